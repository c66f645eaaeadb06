package zoo;

import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Queries a second, by executor. Forks and iterations are those of the published measurement. */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(value = 3, jvmArgsPrepend = "-Xmx1g")
@Warmup(iterations = 2, time = 10)
@Measurement(iterations = 3, time = 30)
public class JdbcBenchmark {
    private static final int MANY = 5_000;
    private static final int FEW = 100;
    private static final long SEED = 20240116;

    /** 5,000 queries on an executor that was there before. */
    @Benchmark
    @OperationsPerInvocation(MANY)
    public List<Object> standing(Cell cell) throws InterruptedException, ExecutionException {
        return cell.batch.run(cell.tasks);
    }

    /** 100 queries on an executor that is made for them, within the time that is measured. */
    @Benchmark
    @OperationsPerInvocation(FEW)
    public List<Object> fresh(Cell cell) throws InterruptedException, ExecutionException {
        try (Batch batch = cell.newBatch()) {
            return batch.run(cell.tasks.subList(0, FEW));
        }
    }

    /** One combination of all that is varied. */
    @State(Scope.Benchmark)
    public static class Cell {
        @Param({"postgresql", "mariadb"})
        public String database;

        @Param({"cached", "fixed-10", "fixed-200", "virtual", "virtual-semaphore", "forkjoin", "forkjoin-15"})
        public String executor;

        @Param({"find-by-code", "select-one", "update-and-group"})
        public String query;

        /** Connections that the pool is asked to hold. */
        @Param({"10", "100", "1000"})
        public int pool;

        /** Connections that the server allows. */
        @Param({"100", "1100"})
        public int maxConnections;

        @Param({"none", "sleep-10", "wire-10"})
        public String latency;

        private HikariDataSource connections;
        private List<Callable<Object>> tasks;
        private Batch batch;

        @Setup(Level.Trial)
        public void open() throws InterruptedException {
            Database server = Database.passed();
            if (server.maxConnections() != maxConnections) { // a result must not carry a label that is not true
                throw new Refusal("max_connections is " + server.maxConnections() + " there, not " + maxConnections);
            }
            connections = Pool.open(server.url(), pool, Duration.ofMinutes(1));
            tasks = tasks(Query.of(query), Latency.of(latency), new Countries(connections));
            Watch.over(connections, this, server);
        }

        @Setup(Level.Iteration)
        public void openBatch() {
            batch = newBatch();
        }

        @TearDown(Level.Iteration)
        public void closeBatch() {
            Watch.endOfIteration();
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
                        return query.run(countries, code);
                    })
                    .toList();
        }
    }
}
