package zoo;

import static org.openjdk.jmh.results.AggregationPolicy.AVG;
import static org.openjdk.jmh.results.AggregationPolicy.MAX;
import static org.openjdk.jmh.results.AggregationPolicy.SUM;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.ScalarResult;

/**
 * Adds to each iteration its connections, pinned threads, memory, threads, garbage collection and CPU time. The
 * benchmark calls {@link #start} and {@link #stop}: JMH calls its profilers when there is no pool yet or none any more.
 */
public final class Watch implements InternalProfiler {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private record Counters(long gcCount, long gcMillis, long clientNanos, double databaseSeconds) {}

    private static Recording recording;
    private static Counters before;
    private static Counters after;
    private static JdbcBenchmark.Cell cell;
    private static int connections;

    static void start() {
        recording = new Recording();
        recording.enable("jdk.VirtualThreadPinned").withoutThreshold().withoutStackTrace();
        recording.start();
        THREADS.resetPeakThreadCount();
        ProcFile.resetPeakMemory();
        before = counters();
    }

    static void stop(JdbcBenchmark.Cell measured) {
        after = counters();
        recording.stop();
        cell = measured;
        connections = Pool.connections(measured.connections);
    }

    @Override
    public String getDescription() {
        return "connections, pinned threads, memory, threads, garbage collection and CPU";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {}

    @Override
    public Collection<ScalarResult> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        double operations = result.getMetadata().getAllOps();
        double databaseSeconds = after.databaseSeconds - before.databaseSeconds;
        List<RecordedEvent> pinned = pinned();
        double pinnedNanos = pinned.stream().mapToLong(event -> event.getDuration().toNanos()).sum();
        double addedMillis = Double.parseDouble(Database.passed("roundtrip.added"));
        double bound = Latency.of(cell.latency)
                .bound(Workers.of(cell.executor).limit, connections, Query.of(cell.query).roundTrips, addedMillis);
        return Stream.of(
                        scalar(MAX, "threads.peak", THREADS.getPeakThreadCount(), "threads"),
                        scalar(MAX, "memory.peak", ProcFile.peakMemoryKb(), "kB"),
                        scalar(SUM, "gc.count", after.gcCount - before.gcCount, "counts"),
                        scalar(SUM, "gc.time", after.gcMillis - before.gcMillis, "ms"),
                        scalar(AVG, "cpu.client", (after.clientNanos - before.clientNanos) / 1e3 / operations, "us/op"),
                        scalar(AVG, "cpu.database", databaseSeconds * 1e6 / operations, "us/op"),
                        scalar(SUM, "pinned.events", pinned.size(), "counts"),
                        scalar(SUM, "pinned.time", pinnedNanos / 1e6, "ms"),
                        scalar(AVG, "pool.connections", connections, "connections"),
                        scalar(AVG, "roundtrip.direct", Double.parseDouble(Database.passed("roundtrip.direct")), "ms"),
                        scalar(AVG, "roundtrip.added", addedMillis, "ms"),
                        scalar(AVG, "bound", bound, "ops/s"))
                .filter(measured -> Double.isFinite(measured.getScore())) // the others are unknown, or nothing bounds
                .toList();
    }

    private static List<RecordedEvent> pinned() {
        try {
            Path file = Files.createTempFile("zoo-jdbc-", ".jfr");
            try (Recording ended = recording) {
                ended.dump(file);
                return RecordingFile.readAllEvents(file);
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new IllegalStateException("the recording of pinned threads cannot be read", e);
        }
    }

    private static Counters counters() {
        return new Counters(
                collectors(GarbageCollectorMXBean::getCollectionCount),
                collectors(GarbageCollectorMXBean::getCollectionTime),
                SYSTEM.getProcessCpuTime(),
                ProcFile.cpuSeconds(Long.parseLong(Database.passed("server.pid"))));
    }

    private static long collectors(ToLongFunction<GarbageCollectorMXBean> read) {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(read).sum();
    }

    private static ScalarResult scalar(AggregationPolicy policy, String label, double value, String unit) {
        return new ScalarResult(label, value, unit, policy);
    }
}
