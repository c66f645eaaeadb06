package zoo;

import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatFactory;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * Takes JMH's command line and measures one executor after the other on the database that JDBC_URL names. A parameter
 * that is not given has its first value. {@code prepare} fills the table for {@link Flood} and prints the arguments of
 * its JVM; {@code drop} removes the table.
 */
public final class Main {
    private static volatile boolean stopping;

    private Main() {}

    public static void main(String[] args) throws Exception {
        int code = 0;
        try {
            switch (args.length == 0 ? "" : args[0]) {
                case "prepare" -> prepare(args[1], args[2]).jvmArguments().forEach(System.out::println);
                case "drop" -> Database.dropTable();
                default -> code = run(new CommandLineOptions(args));
            }
        } catch (IllegalArgumentException | CommandLineOptionException e) {
            System.err.println("java-jdbc: " + e.getMessage());
            code = 2;
        }
        System.exit(code);
    }

    private static Database prepare(String database, String latency) {
        return Database.prepare(database, Latency.of(latency), System.getenv());
    }

    private static int run(CommandLineOptions asked) throws IOException {
        if (asked.shouldHelp()) {
            asked.showHelp();
            return 0;
        }
        // the harness has a lock; JMH's is a file of the first user on this machine, and no other user could measure
        System.setProperty("jmh.ignoreLock", "true");
        List<Workers> executors = values(asked, "executor").stream().map(Workers::of).toList();
        values(asked, "query").forEach(Query::of);
        // one of each: two values together are no value
        Database database =
                prepare(String.join(",", values(asked, "database")), String.join(",", values(asked, "latency")));
        Runtime.getRuntime().addShutdownHook(new Thread(Main::stop));
        System.out.printf(Locale.ROOT, "# %s; round trip %.2f ms, on the wire %.2f ms more%n",
                database.server(), database.directMillis(), database.addedMillis());
        List<RunResult> results = new ArrayList<>();
        int code = 0;
        for (Workers workers : executors) {
            if (stopping) {
                break;
            }
            try {
                results.addAll(new Runner(options(workers, database, asked).build()).run());
            } catch (RunnerException e) {
                code = 1;
                System.err.println("java-jdbc: failed: " + Label.of(workers) + ": " + e.getMessage());
            }
        }
        if (asked.getResult().hasValue()) {
            try (PrintStream out = new PrintStream(asked.getResult().get())) {
                ResultFormatFactory.getInstance(ResultFormatType.JSON, out).writeOut(results);
            }
        }
        return code;
    }

    /** Ends the benchmark's JVMs when this one is stopped, and drops the table in either case. */
    private static void stop() {
        stopping = true;
        ProcessHandle.current().children().forEach(ProcessHandle::destroyForcibly);
        Database.dropTable();
    }

    private static ChainedOptionsBuilder options(Workers workers, Database database, CommandLineOptions asked) {
        List<String> arguments = new ArrayList<>(database.jvmArguments());
        arguments.addAll(workers.jvmArguments());
        arguments.addAll(asked.getJvmArgsAppend().orElse(List.of()));
        ChainedOptionsBuilder options = new OptionsBuilder()
                .parent(asked)
                .shouldFailOnError(true)
                .addProfiler(Watch.class)
                .jvmArgsAppend(arguments.toArray(String[]::new))
                .param("maxConnections", Integer.toString(database.maxConnections()))
                .param("executor", Label.of(workers));
        for (String name : List.of("database", "query", "pool", "latency")) {
            options.param(name, values(asked, name).toArray(String[]::new));
        }
        if (asked.getIncludes().isEmpty()) {
            options.include("JdbcBenchmark.standing");
        }
        if (!asked.getJvmArgs().hasValue()) {
            options.jvmArgs(); // none: otherwise JMH takes the launcher's own
        }
        return options;
    }

    /** The values that were given for a parameter; otherwise its first. */
    private static Collection<String> values(CommandLineOptions asked, String parameter) {
        try {
            String first = JdbcBenchmark.Cell.class.getField(parameter).getAnnotation(Param.class).value()[0];
            return asked.getParameter(parameter).orElse(List.of(first));
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(e);
        }
    }
}
