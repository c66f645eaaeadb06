package zoo;

import java.io.IOException;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
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
    private static final String DEFAULT_BENCHMARK = "JdbcBenchmark.standing";

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
        } catch (Refusal | CommandLineOptionException e) {
            System.err.println("java-jdbc: " + e.getMessage());
            code = 2;
        }
        System.exit(code);
    }

    private static Database prepare(String database, String latency) throws SQLException {
        return Database.prepare(Engine.of(database), Latency.of(latency), System.getenv());
    }

    private static int run(CommandLineOptions asked) throws IOException, SQLException {
        if (asked.shouldHelp()) {
            asked.showHelp();
            return 0;
        }
        ignoreForeignLock();
        List<Workers> executors = values(asked, "executor").stream().map(Workers::of).toList();
        values(asked, "query").forEach(Query::of);
        Database database = prepare(only(asked, "database"), only(asked, "latency"));
        Runtime.getRuntime().addShutdownHook(new Thread(Main::stop));
        System.out.println("# " + database.describe());
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
                System.err.println("java-jdbc: failed: " + workers.label + ": " + Database.problem(e.getMessage()));
            }
        }
        if (asked.getResult().hasValue()) {
            try (PrintStream out = new PrintStream(asked.getResult().get())) {
                ResultFormatFactory.getInstance(ResultFormatType.JSON, out).writeOut(results);
            }
        }
        return code;
    }

    /** Ends the benchmark's JVMs when this one is stopped, and leaves no table behind in either case. */
    private static void stop() {
        stopping = true;
        ProcessHandle.current().children().forEach(ProcessHandle::destroyForcibly);
        Database.dropTable();
    }

    /** JMH locks a file that belongs to whoever measured first on this machine; nobody else could measure then. */
    private static void ignoreForeignLock() {
        Path lock = Path.of(System.getProperty("java.io.tmpdir"), "jmh.lock");
        try {
            new RandomAccessFile(lock.toFile(), "rw").close();
        } catch (IOException e) {
            System.setProperty("jmh.ignoreLock", "true");
        }
    }

    private static ChainedOptionsBuilder options(Workers workers, Database database, CommandLineOptions asked) {
        List<String> arguments = new ArrayList<>(database.jvmArguments());
        if (workers.jvmArgument() != null) {
            arguments.add(workers.jvmArgument());
        }
        asked.getJvmArgsAppend().orElse(List.of()).forEach(arguments::add);
        ChainedOptionsBuilder options = new OptionsBuilder()
                .parent(asked)
                .shouldFailOnError(true)
                .addProfiler(Watch.class)
                .jvmArgsAppend(arguments.toArray(String[]::new))
                .param("maxConnections", Integer.toString(database.maxConnections()))
                .param("executor", workers.label);
        for (String name : List.of("database", "query", "pool", "latency")) {
            options.param(name, values(asked, name).toArray(String[]::new));
        }
        if (asked.getIncludes().isEmpty()) {
            options.include(DEFAULT_BENCHMARK);
        }
        if (!asked.getJvmArgs().hasValue()) {
            options.jvmArgs(); // none: otherwise JMH takes the launcher's own
        }
        return options;
    }

    private static String only(CommandLineOptions asked, String parameter) {
        Collection<String> values = values(asked, parameter);
        if (values.size() != 1) {
            throw new Refusal("one " + parameter + " at a time, got " + values);
        }
        return values.iterator().next();
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
