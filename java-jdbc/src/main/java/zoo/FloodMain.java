package zoo;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import joptsimple.OptionException;
import joptsimple.OptionParser;
import joptsimple.OptionSet;
import joptsimple.OptionSpec;

/**
 * What an executor without a bound does with very many tasks at once, in a JVM that may have so much memory and no
 * more. It is watched from outside, and ended at its limit as a container would end it: a JVM that is out of memory
 * cannot be trusted to report.
 */
final class FloodMain {
    private static final Duration LOOK_EVERY = Duration.ofMillis(20);

    private FloodMain() {}

    private record Wish(Engine database, List<String> executors, List<Integer> tasks, Latency latency, int pool,
            String heap, int memoryMb, int seconds, Path out) {}

    /** The JVM as it was seen from outside. */
    private record Seen(String outcome, long peakKb, long peakThreads, double seconds) {}

    static int run(String[] args) throws IOException, InterruptedException, SQLException {
        Wish wish = read(args);
        List<Map<String, Object>> found = new ArrayList<>();
        try (Stage stage = Stage.set(wish.database, 100, wish.latency)) {
            System.out.println("# " + stage.link().describe());
            for (String executor : wish.executors) {
                for (int tasks : wish.tasks) {
                    Map<String, Object> one = flood(wish, executor, tasks, stage.link());
                    System.out.println(one);
                    found.add(one);
                    stage.refuseDead();
                }
            }
        }
        if (wish.out != null) {
            try (OutputStream out = Files.newOutputStream(wish.out)) {
                JSON.std.with(JSON.Feature.PRETTY_PRINT_OUTPUT).write(found, out);
            }
        }
        return 0;
    }

    private static Map<String, Object> flood(Wish wish, String executor, int tasks, Link link)
            throws IOException, InterruptedException {
        Path log = Files.createTempFile("zoo-jdbc-", ".log");
        try {
            Process process = new ProcessBuilder(command(wish, executor, tasks, link))
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            Seen seen = watch(process, wish);
            Map<String, Object> result = new LinkedHashMap<>();
            result.put("database", wish.database.label);
            result.put("executor", executor);
            result.put("tasks", tasks);
            result.put("pool", wish.pool);
            result.put("server", link.server());
            result.put("added_ms", link.addedMillis());
            result.put("heap", wish.heap);
            result.put("memory_limit_mb", wish.memoryMb);
            result.put("outcome", seen.outcome);
            result.put("seconds", seen.seconds);
            result.put("peak_rss_kb", seen.peakKb);
            result.put("peak_threads", seen.peakThreads);
            result.put("log_tail", Child.tail(log));
            return result;
        } finally {
            Files.delete(log);
        }
    }

    private static List<String> command(Wish wish, String executor, int tasks, Link link) {
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-Xmx" + wish.heap,
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(link.jvmArguments());
        command.addAll(List.of(
                Flood.class.getName(), executor, Integer.toString(tasks), Integer.toString(wish.pool),
                Integer.toString(wish.seconds)));
        return command;
    }

    private static Seen watch(Process process, Wish wish) throws InterruptedException {
        String pid = Long.toString(process.pid());
        long start = System.nanoTime();
        long memory = 0;
        long threads = 0;
        String ended = null;
        while (!process.waitFor(LOOK_EVERY.toMillis(), TimeUnit.MILLISECONDS)) {
            memory = Math.max(memory, ProcFile.status(pid, "VmRSS").orElse(0));
            threads = Math.max(threads, ProcFile.status(pid, "Threads").orElse(0));
            if (ended == null && memory > wish.memoryMb * 1024L) {
                ended = "ended at the memory limit";
                process.destroyForcibly();
            } else if (ended == null && System.nanoTime() - start > Duration.ofSeconds(wish.seconds).toNanos()) {
                ended = "ended at the time limit";
                process.destroyForcibly();
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        if (ended == null) {
            ended = process.exitValue() == 0 ? "finished" : "crashed with exit code " + process.exitValue();
        }
        return new Seen(ended, memory, threads, seconds);
    }

    private static Wish read(String[] args) throws IOException {
        OptionParser parser = new OptionParser();
        OptionSpec<String> database = parser.accepts("database").withRequiredArg().defaultsTo("postgresql");
        OptionSpec<String> executor =
                parser.accepts("executor").withRequiredArg().withValuesSeparatedBy(',').defaultsTo("cached", "virtual");
        OptionSpec<Integer> tasks = parser.accepts("tasks").withRequiredArg().ofType(Integer.class)
                .withValuesSeparatedBy(',').defaultsTo(5_000, 20_000, 50_000);
        OptionSpec<String> latency = parser.accepts("latency").withRequiredArg().defaultsTo("wire-10");
        OptionSpec<Integer> pool = parser.accepts("pool").withRequiredArg().ofType(Integer.class).defaultsTo(10);
        OptionSpec<String> heap = parser.accepts("heap", "-Xmx").withRequiredArg().defaultsTo("512m");
        OptionSpec<Integer> memory = parser.accepts("memory", "resident memory in MB at which the JVM is ended")
                .withRequiredArg().ofType(Integer.class).defaultsTo(2_048);
        OptionSpec<Integer> seconds = parser.accepts("seconds", "after which the JVM is ended")
                .withRequiredArg().ofType(Integer.class).defaultsTo(300);
        OptionSpec<String> out = parser.accepts("out", "file for the results, as JSON").withRequiredArg();
        try {
            OptionSet set = parser.parse(args);
            set.valuesOf(executor).forEach(Workers::of);
            return new Wish(
                    Engine.of(set.valueOf(database)), set.valuesOf(executor), set.valuesOf(tasks),
                    Latency.of(set.valueOf(latency)), set.valueOf(pool), set.valueOf(heap), set.valueOf(memory),
                    set.valueOf(seconds), set.has(out) ? Path.of(set.valueOf(out)) : null);
        } catch (OptionException e) {
            parser.printHelpOn(System.err);
            throw new Refusal(e.getMessage(), e);
        }
    }
}
