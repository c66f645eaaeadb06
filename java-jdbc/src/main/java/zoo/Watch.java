package zoo;

import com.zaxxer.hikari.HikariDataSource;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.ToLongFunction;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.ScalarResult;

/** Stores with each iteration what it took: connections, pinned threads, memory, threads, garbage collection, CPU. */
public final class Watch implements InternalProfiler {
    private static final String PINNED = "jdk.VirtualThreadPinned";
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    /** What the benchmark told when it had set itself up; a profiler is made before. */
    private static volatile Subject subject;

    private record Subject(HikariDataSource connections, JdbcBenchmark.Cell cell, Database database) {}

    private record Counters(long gcCount, long gcMillis, long clientNanos, OptionalDouble serverSeconds) {}

    /** What only the iteration itself can tell: after the last one the pool is closed. */
    private record Ending(int connections, OptionalDouble serverSeconds) {}

    private static volatile Ending ending;

    private Recording recording;
    private Counters before;

    static void over(HikariDataSource connections, JdbcBenchmark.Cell cell, Database database) {
        subject = new Subject(connections, cell, database);
    }

    /** At the end of an iteration, while connections are open. */
    static void endOfIteration() {
        ending = new Ending(Pool.connections(subject.connections), ProcFile.cpuSeconds(subject.database.serverPid()));
    }

    @Override
    public String getDescription() {
        return "connections, pinned threads, memory, threads, garbage collection and CPU";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        recording = new Recording();
        recording.enable(PINNED).withoutThreshold().withoutStackTrace();
        recording.start();
        THREADS.resetPeakThreadCount();
        ProcFile.resetPeakMemory();
        before = counters();
    }

    @Override
    public Collection<ScalarResult> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        Counters after = counters();
        recording.stop();
        double operations = result.getMetadata().getAllOps();
        List<ScalarResult> found = new ArrayList<>();
        found.add(highest("threads.peak", THREADS.getPeakThreadCount(), "threads"));
        ProcFile.peakMemoryKb().ifPresent(kb -> found.add(highest("memory.peak", kb, "kB")));
        found.add(sum("gc.count", after.gcCount - before.gcCount, "counts"));
        found.add(sum("gc.time", after.gcMillis - before.gcMillis, "ms"));
        found.add(mean("cpu.client", (after.clientNanos - before.clientNanos) / 1e3 / operations, "us/op"));
        if (before.serverSeconds.isPresent() && ending.serverSeconds.isPresent()) {
            double seconds = ending.serverSeconds.getAsDouble() - before.serverSeconds.getAsDouble();
            found.add(mean("cpu.database", seconds * 1e6 / operations, "us/op"));
        }
        addPinned(found);
        if (subject != null) {
            addDatabase(found, subject);
        }
        return found;
    }

    private void addPinned(List<ScalarResult> found) {
        long events = 0;
        Duration time = Duration.ZERO;
        try {
            Path file = Files.createTempFile("zoo-jdbc-", ".jfr");
            try {
                recording.dump(file);
                for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
                    events++;
                    time = time.plus(event.getDuration());
                }
            } finally {
                Files.delete(file);
                recording.close();
            }
        } catch (IOException e) {
            throw new IllegalStateException("the recording of pinned threads cannot be read", e);
        }
        found.add(sum("pinned.events", events, "counts"));
        found.add(sum("pinned.time", time.toNanos() / 1e6, "ms"));
    }

    private static void addDatabase(List<ScalarResult> found, Subject subject) {
        JdbcBenchmark.Cell cell = subject.cell;
        found.add(mean("pool.connections", ending.connections, "connections"));
        found.add(mean("roundtrip.direct", subject.database.directMillis(), "ms"));
        found.add(mean("roundtrip.added", subject.database.addedMillis(), "ms"));
        Bound.opsPerSecond(
                        Latency.of(cell.latency),
                        subject.database.addedMillis(),
                        Query.of(cell.query).roundTrips,
                        Workers.of(cell.executor).limit,
                        ending.connections)
                .ifPresent(bound -> found.add(mean("bound", bound, "ops/s")));
    }

    private static Counters counters() {
        return new Counters(
                collectors(GarbageCollectorMXBean::getCollectionCount),
                collectors(GarbageCollectorMXBean::getCollectionTime),
                SYSTEM.getProcessCpuTime(),
                subject == null ? OptionalDouble.empty() : ProcFile.cpuSeconds(subject.database.serverPid()));
    }

    private static long collectors(ToLongFunction<GarbageCollectorMXBean> read) {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(read).sum();
    }

    private static ScalarResult mean(String label, double value, String unit) {
        return new ScalarResult(label, value, unit, AggregationPolicy.AVG);
    }

    private static ScalarResult sum(String label, double value, String unit) {
        return new ScalarResult(label, value, unit, AggregationPolicy.SUM);
    }

    private static ScalarResult highest(String label, double value, String unit) {
        return new ScalarResult(label, value, unit, AggregationPolicy.MAX);
    }
}
