package zoo;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The database server that JDBC_URL names, with the table in it. The launcher measures the way to it and passes all of
 * this to the benchmark's JVM as system properties. The password stays in the environment, which other users cannot
 * read.
 */
record Database(
        String url, String server, long serverPid, int maxConnections, double directMillis, double addedMillis) {
    private static final int LOGIN_SECONDS = 10;
    private static final int ROUND_TRIPS = 51;
    private static final Duration WARM_UP = Duration.ofMillis(500);

    /** Fills the table, and measures round trips without and with the latency. */
    static Database prepare(Engine engine, Latency latency, Map<String, String> environment) throws SQLException {
        String direct = environment.get("JDBC_URL");
        if (direct == null) {
            throw new Refusal("JDBC_URL is missing; `zoo jdbc exec -- COMMAND` starts a database and sets it");
        }
        if (!direct.startsWith("jdbc:" + engine.label + ":")) {
            throw new Refusal("JDBC_URL is no URL of " + engine.label + ": " + direct);
        }
        String url = latency.kind() == Latency.Kind.WIRE ? slowed(latency, environment) : direct;
        long pid = pid(environment);
        try (Connection connection = connect(direct)) {
            double millis = roundTripMillis(direct);
            String server = connection.getMetaData().getDatabaseProductName() + " "
                    + connection.getMetaData().getDatabaseProductVersion()
                    + " (" + environment.getOrDefault("JDBC_ORIGIN", "external") + ")";
            double added = url.equals(direct) ? 0 : roundTripMillis(url) - millis;
            Countries.create(connection);
            return new Database(url, server, pid, engine.maxConnections(connection), millis, added);
        } catch (SQLException e) {
            throw new Refusal("cannot use " + direct + ": " + e.getMessage(), e);
        }
    }

    private static String slowed(Latency latency, Map<String, String> environment) {
        String url = environment.get("JDBC_WIRE_URL");
        if (url == null || !environment.getOrDefault("JDBC_WIRE_MS", "").equals(Integer.toString(latency.millis()))) {
            throw new Refusal("latency wire-" + latency.millis() + " needs JDBC_WIRE_URL with JDBC_WIRE_MS="
                    + latency.millis() + "; `zoo jdbc exec --latency wire-" + latency.millis() + "` sets them");
        }
        return url;
    }

    private static long pid(Map<String, String> environment) {
        String text = environment.getOrDefault("JDBC_PID", "-1");
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new Refusal("JDBC_PID must be a process id, got \"" + text + "\"", e);
        }
    }

    private static Connection connect(String url) throws SQLException {
        DriverManager.setLoginTimeout(LOGIN_SECONDS);
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
            System.err.println("the table zoo_country was left at " + url + ": " + e.getMessage());
        }
    }

    /** Why a measurement failed: {@code otherwise}, if the database can still be used. */
    static String problem(String otherwise) {
        String url = System.getenv("JDBC_URL");
        try {
            connect(url).close();
            return otherwise;
        } catch (SQLException e) {
            return url + " cannot be used any more: " + e.getMessage();
        }
    }

    String describe() {
        return String.format(
                Locale.ROOT, "%s; round trip %.2f ms, on the wire %.2f ms more", server, directMillis, addedMillis);
    }

    List<String> jvmArguments() {
        return List.of(
                "-Dzoo.url=" + url,
                "-Dzoo.server=" + server,
                "-Dzoo.server.pid=" + serverPid,
                "-Dzoo.max_connections=" + maxConnections,
                "-Dzoo.roundtrip.direct=" + directMillis,
                "-Dzoo.roundtrip.added=" + addedMillis);
    }

    /** Reads what {@link #jvmArguments} passed to this JVM. */
    static Database passed() {
        if (System.getProperty("zoo.url") == null) {
            throw new Refusal("start this benchmark by java -jar target/java-jdbc.jar, which fills the table first");
        }
        return new Database(
                System.getProperty("zoo.url"),
                System.getProperty("zoo.server"),
                Long.getLong("zoo.server.pid"),
                Integer.getInteger("zoo.max_connections"),
                Double.parseDouble(System.getProperty("zoo.roundtrip.direct")),
                Double.parseDouble(System.getProperty("zoo.roundtrip.added")));
    }

    /** The median time of the shortest query, on one connection that has been used before. */
    private static double roundTripMillis(String url) throws SQLException {
        try (Connection connection = connect(url); Statement statement = connection.createStatement()) {
            long warm = System.nanoTime() + WARM_UP.toNanos();
            while (System.nanoTime() < warm) {
                selectOne(statement);
            }
            double[] nanos = new double[ROUND_TRIPS];
            for (int i = 0; i < ROUND_TRIPS; i++) {
                long start = System.nanoTime();
                selectOne(statement);
                nanos[i] = System.nanoTime() - start;
            }
            Arrays.sort(nanos);
            return nanos[ROUND_TRIPS / 2] / 1e6;
        }
    }

    private static void selectOne(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("SELECT 1")) {
            row.next();
        }
    }
}
