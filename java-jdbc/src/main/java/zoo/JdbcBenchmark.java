package zoo;

import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.*;

/** Queries per second by executor. Forks and iterations are those of the published measurement. */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(value = 3, jvmArgsPrepend = "-Xmx1g")
@Warmup(iterations = 2, time = 10)
@Measurement(iterations = 3, time = 30)
public class JdbcBenchmark {
    private static final int MANY = 5_000;
    private static final int FEW = 100;
    private static final long SEED = 20240116;

    /** 5,000 queries on an executor that already runs. */
    @Benchmark
    @OperationsPerInvocation(MANY)
    public List<Object> standing(Cell cell) throws InterruptedException, ExecutionException {
        return cell.batch.run(cell.tasks);
    }

    /** 100 queries on an executor that is made for them within the measured time. */
    @Benchmark
    @OperationsPerInvocation(FEW)
    public List<Object> fresh(Cell cell) throws InterruptedException, ExecutionException {
        try (Batch batch = cell.newBatch()) {
            return batch.run(cell.tasks.subList(0, FEW));
        }
    }

    /** One combination of everything that varies. */
    @State(Scope.Benchmark)
    public static class Cell {
        @Param({"postgresql", "mariadb"})
        public String database;

        @Param({"cached", "fixed-10", "fixed-200", "virtual", "virtual-semaphore", "forkjoin", "forkjoin-15"})
        public String executor;

        @Param({"find-by-code", "select-one", "update-and-group"})
        public String query;

        /** Connections that the pool should hold. */
        @Param({"10", "100", "1000"})
        public int pool;

        /** Connections that the server allows; {@link Main} sets the server's own limit. */
        @Param({"100", "1100"})
        public int maxConnections;

        @Param({"none", "sleep-10", "wire-10"})
        public String latency;

        HikariDataSource connections;
        private List<Callable<Object>> tasks;
        private Batch batch;

        @Setup(Level.Trial)
        public void open() throws InterruptedException {
            connections = Pool.open(Database.passed("url"), pool, Duration.ofMinutes(1));
            tasks = tasks(Query.of(query), Latency.of(latency), new Countries(connections));
        }

        @Setup(Level.Iteration)
        public void openBatch() {
            batch = newBatch();
            Watch.start();
        }

        @TearDown(Level.Iteration)
        public void closeBatch() {
            Watch.stop(this);
            batch.close();
        }

        @TearDown(Level.Trial)
        public void close() {
            connections.close();
        }

        Batch newBatch() {
            return new Batch(Workers.of(executor), pool);
        }

        private static List<Callable<Object>> tasks(Query query, Latency latency, Countries countries) {
            List<String> codes = Countries.codes();
            return new Random(SEED)
                    .ints(MANY, 0, codes.size())
                    .mapToObj(codes::get)
                    .map(code -> (Callable<Object>) () -> {
                        latency.sleep();
                        return query.statements.run(countries, code);
                    })
                    .toList();
        }
    }
}
