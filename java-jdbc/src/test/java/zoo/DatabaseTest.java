package zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DatabaseTest {

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void aServerThatIsNotThereIsNamed(String database) {
        String url = "jdbc:" + database + "://127.0.0.1:1/zoo";
        String message = refused(database, "none", Map.of("JDBC_URL", url));
        assertTrue(message.startsWith("cannot use " + url + ": "), message);
    }

    @Test
    void aUrlOfTheOtherDatabaseIsRefused() {
        String url = "jdbc:mariadb://127.0.0.1/zoo";
        assertEquals(
                "JDBC_URL is no URL of postgresql: " + url,
                refused("postgresql", "none", Map.of("JDBC_URL", url)));
    }

    @Test
    void withoutAUrlTheCommandIsNamedThatSetsIt() {
        String message = refused("mariadb", "none", Map.of());
        assertTrue(message.contains("zoo jdbc exec"), message);
    }

    @Test
    void aWireOfAnotherLatencyIsRefused() {
        String url = "jdbc:mariadb://127.0.0.1:1/zoo";
        Map<String, String> environment = Map.of("JDBC_URL", url, "JDBC_WIRE_URL", url, "JDBC_WIRE_MS", "2");
        String message = refused("mariadb", "wire-10", environment);
        assertTrue(message.startsWith("latency wire-10 needs JDBC_WIRE_URL with JDBC_WIRE_MS=10"), message);
    }

    @Test
    void aProcessIdThatIsNoneIsRefused() {
        Map<String, String> environment = Map.of("JDBC_URL", "jdbc:mariadb://127.0.0.1:1/zoo", "JDBC_PID", "x");
        assertEquals("JDBC_PID must be a process id, got \"x\"", refused("mariadb", "none", environment));
    }

    private static String refused(String database, String latency, Map<String, String> environment) {
        Executable prepare = () -> Database.prepare(database, Latency.of(latency), environment);
        return assertThrows(IllegalArgumentException.class, prepare).getMessage();
    }
}
