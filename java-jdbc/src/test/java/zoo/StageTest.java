package zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariDataSource;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Servers come, are what they were asked to be, and go. */
class StageTest {

    @ParameterizedTest
    @EnumSource(Engine.class)
    void aServerIsAsItWasAskedForAndLeavesNothingBehind(Engine engine) throws Exception {
        Path folder;
        ProcessHandle server;
        try (Stage stage = Stage.set(engine, 20, Latency.of("none"))) {
            Link link = stage.link();
            folder = link.credentials().getParent();
            server = ProcessHandle.of(link.serverPid()).orElseThrow();
            assertTrue(server.isAlive());
            assertEquals(20, stage.maxConnections());
            aPoolGetsNoMoreThanTheServerAllows(link);
            aRefusedLoginIsSaidSo(engine, link);
        }
        assertFalse(server.isAlive());
        assertFalse(Files.exists(folder));
    }

    private static void aPoolGetsNoMoreThanTheServerAllows(Link link) throws Exception {
        try (HikariDataSource pool = Pool.open(link.url(), link.readCredentials(), 40, Duration.ofSeconds(10))) {
            int connections = Pool.connections(pool);
            assertTrue(connections >= 15 && connections <= 20, connections + " connections");
        }
    }

    private static void aRefusedLoginIsSaidSo(Engine engine, Link link) {
        Map<String, String> environment =
                Map.of("JDBC_URL", link.url(), "JDBC_USER", "zoo", "JDBC_PASSWORD", "wrong");
        Refusal refusal = assertThrows(Refusal.class, () -> Server.external(engine, environment));
        assertTrue(refusal.getMessage().contains("zoo"), refusal.getMessage());
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void aDeathIsNoticed(Engine engine) throws Exception {
        try (Stage stage = Stage.set(engine, 20, Latency.of("none"))) {
            CountDownLatch noticed = new CountDownLatch(1);
            stage.onDeath(noticed::countDown);
            stage.refuseDead();
            Server other = known(engine, stage.link());
            other.refuseDead();
            ProcessHandle.of(stage.link().serverPid()).orElseThrow().destroyForcibly();
            assertTrue(noticed.await(10, TimeUnit.SECONDS));
            Refusal refusal = assertThrows(Refusal.class, stage::refuseDead);
            assertTrue(refusal.getMessage().startsWith(engine.label + " ended with exit code"), refusal.getMessage());
            refusal = assertThrows(Refusal.class, other::refuseDead);
            assertTrue(refusal.getMessage().startsWith(stage.link().url() + " cannot be used any more"), refusal.getMessage());
        }
    }

    /** The same server as one that somebody else has started. */
    private static Server known(Engine engine, Link link) throws Exception {
        Credentials credentials = link.readCredentials();
        return Server.external(engine, Map.of(
                "JDBC_URL", link.url(), "JDBC_USER", credentials.user(), "JDBC_PASSWORD", credentials.password()));
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void aServerThatIsNotThereIsNamed(Engine engine) throws Exception {
        String url = engine.url(Child.freePort());
        Refusal refusal = assertThrows(Refusal.class, () -> Server.external(engine, Map.of("JDBC_URL", url)));
        assertTrue(refusal.getMessage().startsWith("cannot use " + url + ": "), refusal.getMessage());
    }

    @Test
    void aUrlOfTheOtherDatabaseIsRefused() {
        Map<String, String> environment = Map.of("JDBC_URL", "jdbc:mariadb://127.0.0.1/zoo");
        Refusal refusal = assertThrows(Refusal.class, () -> Server.external(Engine.POSTGRESQL, environment));
        assertEquals("JDBC_URL is no URL of postgresql: jdbc:mariadb://127.0.0.1/zoo", refusal.getMessage());
    }
}
