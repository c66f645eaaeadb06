package zoo;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;

/** How long a server takes to answer the shortest of questions. */
final class RoundTrip {
    private static final int TIMES = 51;
    private static final Duration WARM_UP = Duration.ofMillis(500);

    private RoundTrip() {}

    /** The median, on one connection that has been used before. */
    static double millis(String url, Credentials credentials) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url, credentials.user(), credentials.password());
                Statement statement = connection.createStatement()) {
            long warm = System.nanoTime() + WARM_UP.toNanos();
            while (System.nanoTime() < warm) {
                ask(statement);
            }
            double[] nanos = new double[TIMES];
            for (int i = 0; i < TIMES; i++) {
                long start = System.nanoTime();
                ask(statement);
                nanos[i] = System.nanoTime() - start;
            }
            Arrays.sort(nanos);
            return nanos[TIMES / 2] / 1e6;
        }
    }

    private static void ask(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("SELECT 1")) {
            row.next();
        }
    }
}
