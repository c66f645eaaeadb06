package zoo;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;

/** The connection pool. */
final class Pool {
    private Pool() {}

    /** Opens a pool and fills it as far as the server allows; a task waits {@code patience} for a connection. */
    static HikariDataSource open(String url, int size, Duration patience) throws InterruptedException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setUsername(Database.user());
        config.setPassword(Database.password());
        config.setMaximumPoolSize(size);
        config.setConnectionTimeout(patience.toMillis());
        config.setRegisterMbeans(false);
        HikariDataSource pool = new HikariDataSource(config);
        int seen = 0;
        // full, or not grown for 3 s: the server may not allow the size asked for
        for (int looks = 0; seen < size && looks < 60; looks++) {
            Thread.sleep(50);
            int now = connections(pool);
            if (now > seen) {
                seen = now;
                looks = 0;
            }
        }
        return pool;
    }

    static int connections(HikariDataSource pool) {
        return pool.getHikariPoolMXBean().getTotalConnections();
    }
}
