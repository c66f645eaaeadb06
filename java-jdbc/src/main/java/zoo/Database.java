package zoo;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The database server that JDBC_URL names, with the table in it. The launcher measures the way to it and passes all of
 * this to the benchmark's JVM as system properties. The password stays in the environment, which other users cannot
 * read.
 */
record Database(
        String url, String server, String serverPid, int maxConnections, double directMillis, double addedMillis) {
    private static final int ROUND_TRIPS = 51;
    private static final long WARM_UP_NANOS = 500_000_000;

    /** Fills the table, and measures round trips without and with the latency. */
    static Database prepare(String database, Latency latency, Map<String, String> environment) {
        String direct = environment.get("JDBC_URL");
        check(direct != null, "JDBC_URL is missing; `zoo jdbc exec -- COMMAND` starts a database and sets it");
        check(direct.startsWith("jdbc:" + database + ":"), "JDBC_URL is no URL of " + database + ": " + direct);
        String url = direct;
        if (latency.kind().equals("wire")) {
            url = environment.get("JDBC_WIRE_URL");
            String ms = Integer.toString(latency.millis());
            check(url != null && ms.equals(environment.get("JDBC_WIRE_MS")),
                    "latency wire-" + ms + " needs JDBC_WIRE_URL with JDBC_WIRE_MS=" + ms
                            + "; `zoo jdbc exec --latency wire-" + ms + "` sets them");
        }
        String pid = environment.getOrDefault("JDBC_PID", "-1");
        check(pid.matches("-1|[0-9]{1,9}"), "JDBC_PID must be a process id, got \"" + pid + "\"");
        try (Connection connection = connect(direct)) {
            double millis = roundTripMillis(direct);
            String server = connection.getMetaData().getDatabaseProductName() + " "
                    + connection.getMetaData().getDatabaseProductVersion()
                    + " (" + environment.getOrDefault("JDBC_ORIGIN", "external") + ")";
            double added = url.equals(direct) ? 0 : roundTripMillis(url) - millis;
            Countries.create(connection);
            return new Database(url, server, pid, maxConnections(connection, database), millis, added);
        } catch (SQLException e) {
            throw new IllegalArgumentException("cannot use " + direct + ": " + e.getMessage(), e);
        }
    }

    /** How many connections the server allows. */
    static int maxConnections(Connection connection, String database) throws SQLException {
        String sql = database.equals("mariadb") ? "SELECT @@max_connections" : "SHOW max_connections";
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getInt(1);
        }
    }

    private static void check(boolean valid, String complaint) {
        if (!valid) {
            throw new IllegalArgumentException(complaint);
        }
    }

    private static Connection connect(String url) throws SQLException {
        DriverManager.setLoginTimeout(10); // seconds
        return DriverManager.getConnection(url, user(), password());
    }

    static String user() {
        return System.getenv().getOrDefault("JDBC_USER", "zoo");
    }

    static String password() {
        return System.getenv().getOrDefault("JDBC_PASSWORD", "");
    }

    static void dropTable() {
        String url = System.getenv("JDBC_URL");
        try (Connection connection = connect(url)) {
            Countries.drop(connection);
        } catch (SQLException e) {
            System.err.println("java-jdbc: cannot use " + url + " to drop the table zoo_country: " + e.getMessage());
        }
    }

    List<String> jvmArguments() {
        return List.of(
                "-Dzoo.url=" + url,
                "-Dzoo.server=" + server,
                "-Dzoo.server.pid=" + serverPid,
                "-Dzoo.roundtrip.direct=" + directMillis,
                "-Dzoo.roundtrip.added=" + addedMillis);
    }

    /** Returns what {@link #jvmArguments} passed to this JVM. */
    static String passed(String name) {
        String value = System.getProperty("zoo." + name);
        check(value != null, "start this benchmark by java -jar target/java-jdbc.jar, which fills the table first");
        return value;
    }

    /** The median time of the shortest query, on a warm connection. */
    private static double roundTripMillis(String url) throws SQLException {
        try (Connection connection = connect(url); Statement statement = connection.createStatement()) {
            long warm = System.nanoTime() + WARM_UP_NANOS;
            while (System.nanoTime() < warm) {
                statement.executeQuery("SELECT 1").close();
            }
            double[] nanos = new double[ROUND_TRIPS];
            for (int i = 0; i < ROUND_TRIPS; i++) {
                long start = System.nanoTime();
                statement.executeQuery("SELECT 1").close();
                nanos[i] = System.nanoTime() - start;
            }
            Arrays.sort(nanos);
            return nanos[ROUND_TRIPS / 2] / 1e6;
        }
    }
}
