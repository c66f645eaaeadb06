package zoo;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;

/** The connection pool. */
final class Pool {
    /** How long the pool may stand still before it counts as full: the server may not allow the size asked for. */
    private static final Duration STILL = Duration.ofSeconds(3);

    private static final Duration AT_MOST = Duration.ofMinutes(2);

    private Pool() {}

    /** A pool that has as many connections as it will get; a task waits {@code patience} for one of them. */
    static HikariDataSource open(String url, int size, Duration patience) throws InterruptedException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setUsername(Database.user());
        config.setPassword(Database.password());
        config.setMaximumPoolSize(size);
        config.setConnectionTimeout(patience.toMillis());
        config.setRegisterMbeans(false);
        HikariDataSource pool = new HikariDataSource(config);
        awaitFilled(pool, size);
        return pool;
    }

    static int connections(HikariDataSource pool) {
        return pool.getHikariPoolMXBean().getTotalConnections();
    }

    private static void awaitFilled(HikariDataSource pool, int size) throws InterruptedException {
        long start = System.nanoTime();
        long grown = start;
        int seen = 0;
        while (seen < size && since(grown).compareTo(STILL) < 0 && since(start).compareTo(AT_MOST) < 0) {
            Thread.sleep(50);
            int now = connections(pool);
            if (now > seen) {
                seen = now;
                grown = System.nanoTime();
            }
        }
    }

    private static Duration since(long nanoTime) {
        return Duration.ofNanos(System.nanoTime() - nanoTime);
    }
}
