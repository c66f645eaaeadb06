package zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.LocalDateTime;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The queries give right answers on both databases; only then their time means something. The harness's
 * test_whole_jdbc_run.py starts the databases that POSTGRESQL_URL and MARIADB_URL name.
 */
@EnabledIfEnvironmentVariable(named = "POSTGRESQL_URL", matches = ".+")
class CountriesTest {
    private static final Map<Engine, HikariDataSource> POOLS = new EnumMap<>(Engine.class);

    @BeforeAll
    static void startDatabases() throws Exception {
        for (Engine engine : Engine.values()) {
            POOLS.put(engine, Pool.open(url(engine), 2, Duration.ofSeconds(10)));
        }
    }

    @AfterAll
    static void stopDatabases() {
        POOLS.values().forEach(HikariDataSource::close);
    }

    @BeforeEach
    void fillTables() throws SQLException {
        for (HikariDataSource pool : POOLS.values()) {
            try (Connection connection = pool.getConnection()) {
                Countries.create(connection);
            }
        }
    }

    @Test
    void theTableHasTwoHundredAndEightyRowsEachWithACodeOfItsOwn() {
        List<String> codes = Countries.codes();
        assertEquals(280, codes.size());
        assertEquals(280, new HashSet<>(codes).size());
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void oneIsOne(Engine engine) throws SQLException {
        assertEquals(1, countries(engine).selectOne());
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void everyCodeFindsItsCountry(Engine engine) throws SQLException {
        for (String code : Countries.codes()) {
            assertEquals(code, countries(engine).findByCode(code).orElseThrow().code());
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void aCountryIsMappedInFull(Engine engine) throws SQLException {
        LocalDateTime never = LocalDateTime.of(2000, 1, 1, 0, 0);
        Country france = countries(engine).findByCode("FR").orElseThrow();
        assertEquals(new Country(france.id(), "FR", "France", "EUR", false, never), france);
        Country former = countries(engine).findByCode("SUHH").orElseThrow();
        assertEquals(new Country(former.id(), "SUHH", "Soviet Union", null, true, never), former);
        assertEquals("Åland Islands", countries(engine).findByCode("AX").orElseThrow().name());
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void anUnknownCodeFindsNothing(Engine engine) throws SQLException {
        assertEquals(Optional.empty(), countries(engine).findByCode("XX"));
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void countriesUpdatedOfLateAreGroupedByCurrency(Engine engine) throws SQLException {
        Countries countries = countries(engine);
        assertEquals(List.of(), countries.updateAndGroup("AT"), "one country is no group");
        assertEquals(List.of(), countries.updateAndGroup("FR"), "France does not end in a");
        assertEquals(List.of(), countries.updateAndGroup("SUHH"), "it has no currency");
        List<CurrencyGroup> groups = countries.updateAndGroup("AD");
        assertEquals(List.of("EUR 2"), words(groups));
        LocalDateTime latest = countries.findByCode("AD").orElseThrow().updated();
        assertEquals(latest, groups.getFirst().latest(), "Andorra was the last");
        countries.updateAndGroup("AU");
        countries.updateAndGroup("EE");
        countries.updateAndGroup("AT");
        assertEquals(List.of("EUR 3"), words(countries.updateAndGroup("AT")));
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void anUpdateIsOfLateForTenSeconds(Engine engine) throws SQLException {
        for (int seconds : List.of(8, 11)) {
            try (Connection connection = POOLS.get(engine).getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("UPDATE zoo_country SET updated = CURRENT_TIMESTAMP(6) - INTERVAL '" + seconds
                        + "' SECOND");
            }
            assertEquals(seconds < 10, !countries(engine).updateAndGroup("FR").isEmpty(), seconds + " s");
        }
    }

    @Test
    void bothDatabasesGiveTheSameGroups() throws SQLException {
        Map<Engine, List<String>> last = new EnumMap<>(Engine.class);
        for (Engine engine : Engine.values()) {
            for (String code : Countries.codes().subList(0, 100)) {
                last.put(engine, words(countries(engine).updateAndGroup(code)));
            }
        }
        assertTrue(last.get(Engine.POSTGRESQL).size() > 1, last.toString());
        assertEquals(last.get(Engine.POSTGRESQL), last.get(Engine.MARIADB));
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void aPoolGetsNoMoreThanTheServerAllows(Engine engine) throws Exception {
        try (Connection connection = POOLS.get(engine).getConnection()) {
            assertEquals(20, engine.maxConnections(connection));
        }
        try (HikariDataSource pool = Pool.open(url(engine), 40, Duration.ofSeconds(10))) {
            int connections = Pool.connections(pool);
            assertTrue(connections >= 13 && connections <= 20, connections + " connections");
        }
    }

    @ParameterizedTest
    @EnumSource(Engine.class)
    void theTableIsFilledAndTheWayToItMeasured(Engine engine) throws SQLException {
        Map<String, String> environment = Map.of("JDBC_URL", url(engine), "JDBC_ORIGIN", "test", "JDBC_PID", "7");
        Database database = Database.prepare(engine, Latency.of("none"), environment);
        assertEquals(url(engine), database.url());
        assertTrue(database.server().endsWith(" (test)"), database.server());
        assertEquals(7, database.serverPid());
        assertEquals(20, database.maxConnections());
        assertTrue(database.directMillis() > 0);
        assertEquals(0, database.addedMillis());
    }

    private static String url(Engine engine) {
        return System.getenv(engine + "_URL");
    }

    private static Countries countries(Engine engine) {
        return new Countries(POOLS.get(engine));
    }

    private static List<String> words(List<CurrencyGroup> groups) {
        return groups.stream().map(group -> group.currency() + " " + group.countries()).toList();
    }
}
