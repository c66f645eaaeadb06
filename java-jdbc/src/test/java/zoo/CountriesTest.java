package zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.LocalDateTime;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The queries give right answers on both databases; only then their time means something. The harness's
 * test_whole_jdbc_run.py starts the databases that POSTGRESQL_URL and MARIADB_URL name.
 */
@EnabledIfEnvironmentVariable(named = "POSTGRESQL_URL", matches = ".+")
class CountriesTest {
    private static final Map<String, HikariDataSource> POOLS = new HashMap<>();

    @BeforeAll
    static void startDatabases() throws Exception {
        for (String database : List.of("postgresql", "mariadb")) {
            POOLS.put(database, Pool.open(url(database), 2, Duration.ofSeconds(10)));
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
    @ValueSource(strings = {"postgresql", "mariadb"})
    void oneIsOne(String database) throws SQLException {
        assertEquals(1, countries(database).selectOne());
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void everyCodeFindsItsCountry(String database) throws SQLException {
        for (String code : Countries.codes()) {
            assertEquals(code, countries(database).findByCode(code).orElseThrow().code());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void aCountryIsMappedInFull(String database) throws SQLException {
        LocalDateTime never = LocalDateTime.of(2000, 1, 1, 0, 0);
        Countries.Country france = countries(database).findByCode("FR").orElseThrow();
        assertEquals(new Countries.Country(france.id(), "FR", "France", "EUR", false, never), france);
        Countries.Country former = countries(database).findByCode("SUHH").orElseThrow();
        assertEquals(new Countries.Country(former.id(), "SUHH", "Soviet Union", null, true, never), former);
        assertEquals("Åland Islands", countries(database).findByCode("AX").orElseThrow().name());
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void anUnknownCodeFindsNothing(String database) throws SQLException {
        assertEquals(Optional.empty(), countries(database).findByCode("XX"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void countriesUpdatedOfLateAreGroupedByCurrency(String database) throws SQLException {
        Countries countries = countries(database);
        assertEquals(List.of(), countries.updateAndGroup("AT"), "one country is no group");
        assertEquals(List.of(), countries.updateAndGroup("FR"), "France does not end in a");
        assertEquals(List.of(), countries.updateAndGroup("SUHH"), "it has no currency");
        List<Countries.CurrencyGroup> groups = countries.updateAndGroup("AD");
        assertEquals(List.of("EUR 2"), words(groups));
        LocalDateTime latest = countries.findByCode("AD").orElseThrow().updated();
        assertEquals(latest, groups.getFirst().latest(), "Andorra was the last");
        countries.updateAndGroup("AU");
        countries.updateAndGroup("EE");
        countries.updateAndGroup("AT");
        assertEquals(List.of("EUR 3"), words(countries.updateAndGroup("AT")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void anUpdateIsOfLateForTenSeconds(String database) throws SQLException {
        for (int seconds : List.of(8, 11)) {
            try (Connection connection = POOLS.get(database).getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("UPDATE zoo_country SET updated = CURRENT_TIMESTAMP(6) - INTERVAL '" + seconds
                        + "' SECOND");
            }
            assertEquals(seconds < 10, !countries(database).updateAndGroup("FR").isEmpty(), seconds + " s");
        }
    }

    @Test
    void bothDatabasesGiveTheSameGroups() throws SQLException {
        Map<String, List<String>> last = new HashMap<>();
        for (String database : List.of("postgresql", "mariadb")) {
            for (String code : Countries.codes().subList(0, 100)) {
                last.put(database, words(countries(database).updateAndGroup(code)));
            }
        }
        assertTrue(last.get("postgresql").size() > 1, last.toString());
        assertEquals(last.get("postgresql"), last.get("mariadb"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void aPoolGetsNoMoreThanTheServerAllows(String database) throws Exception {
        try (Connection connection = POOLS.get(database).getConnection()) {
            assertEquals(20, Database.maxConnections(connection, database));
        }
        try (HikariDataSource pool = Pool.open(url(database), 40, Duration.ofSeconds(10))) {
            int connections = Pool.connections(pool);
            assertTrue(connections >= 13 && connections <= 20, connections + " connections");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void theTableIsFilledAndTheWayToItMeasured(String database) throws SQLException {
        Map<String, String> environment = Map.of("JDBC_URL", url(database), "JDBC_ORIGIN", "test", "JDBC_PID", "7");
        Database prepared = Database.prepare(database, Latency.of("none"), environment);
        assertEquals(url(database), prepared.url());
        assertTrue(prepared.server().endsWith(" (test)"), prepared.server());
        assertEquals("7", prepared.serverPid());
        assertEquals(20, prepared.maxConnections());
        assertTrue(prepared.directMillis() > 0);
        assertEquals(0, prepared.addedMillis());
    }

    private static String url(String database) {
        return System.getenv(database.toUpperCase(Locale.ROOT) + "_URL");
    }

    private static Countries countries(String database) {
        return new Countries(POOLS.get(database));
    }

    private static List<String> words(List<Countries.CurrencyGroup> groups) {
        return groups.stream().map(group -> group.currency() + " " + group.countries()).toList();
    }
}
