package zoo;

import java.io.IOException;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
 * Takes JMH's command line; starts and stops a database (and a slow wire to it) around each combination of
 * parameters. A parameter that is not named has its first value.
 */
public final class Main {
    private static final List<String> PARAMETERS =
            List.of("database", "executor", "query", "pool", "maxConnections", "latency");
    private static final String DEFAULT_BENCHMARK = "JdbcBenchmark.standing";

    private Main() {}

    public static void main(String[] args) throws Exception {
        int code;
        try {
            code = args.length > 0 && args[0].equals("flood")
                    ? FloodMain.run(Arrays.copyOfRange(args, 1, args.length))
                    : run(new CommandLineOptions(args));
        } catch (Refusal | CommandLineOptionException e) {
            System.err.println("java-jdbc: " + e.getMessage());
            code = 2;
        }
        System.exit(code);
    }

    private static int run(CommandLineOptions asked) throws IOException, InterruptedException, SQLException {
        if (asked.shouldHelp()) {
            asked.showHelp();
            return 0;
        }
        ignoreForeignLock();
        List<RunResult> results = new ArrayList<>();
        int failed = 0;
        for (Map<String, String> cell : cells(asked)) {
            try {
                results.addAll(measure(cell, asked));
            } catch (Refusal | RunnerException e) {
                failed++;
                System.err.println("java-jdbc: failed: " + cell + ": " + e.getMessage());
            }
        }
        if (asked.getResult().hasValue()) {
            try (PrintStream out = new PrintStream(asked.getResult().get())) {
                ResultFormatFactory.getInstance(ResultFormatType.JSON, out).writeOut(results);
            }
        }
        return failed == 0 ? 0 : 1;
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

    private static Collection<RunResult> measure(Map<String, String> cell, CommandLineOptions asked)
            throws IOException, InterruptedException, SQLException, RunnerException {
        Engine engine = Engine.of(cell.get("database"));
        Workers workers = Workers.of(cell.get("executor"));
        Query.of(cell.get("query"));
        Latency latency = Latency.of(cell.get("latency"));
        try (Stage stage = Stage.set(engine, number(cell, "maxConnections"), latency)) {
            cell.put("maxConnections", Integer.toString(stage.maxConnections()));
            stage.onDeath(Stage::endForks);
            System.out.println("# " + stage.link().describe());
            try {
                return new Runner(options(cell, workers, stage.link(), asked).build()).run();
            } catch (RunnerException e) {
                stage.refuseDead();
                throw e;
            }
        }
    }

    private static ChainedOptionsBuilder options(
            Map<String, String> cell, Workers workers, Link link, CommandLineOptions asked) {
        List<String> arguments = new ArrayList<>(link.jvmArguments());
        if (workers.jvmArgument() != null) {
            arguments.add(workers.jvmArgument());
        }
        if (asked.getJvmArgsAppend().hasValue()) {
            arguments.addAll(asked.getJvmArgsAppend().get());
        }
        ChainedOptionsBuilder options = new OptionsBuilder()
                .parent(asked)
                .shouldFailOnError(true)
                .addProfiler(Watch.class)
                .jvmArgsAppend(arguments.toArray(String[]::new));
        if (asked.getIncludes().isEmpty()) {
            options.include(DEFAULT_BENCHMARK);
        }
        if (!asked.getJvmArgs().hasValue()) {
            options.jvmArgs(); // none: else JMH takes the launcher's own
        }
        cell.forEach(options::param);
        return options;
    }

    /** Every combination of the values asked for. */
    private static List<Map<String, String>> cells(CommandLineOptions asked) {
        List<Map<String, String>> cells = List.of(Map.of());
        for (String name : PARAMETERS) {
            Collection<String> values = asked.getParameter(name).hasValue()
                    ? asked.getParameter(name).get()
                    : List.of(firstValue(name));
            List<Map<String, String>> more = new ArrayList<>();
            for (Map<String, String> cell : cells) {
                for (String value : values) {
                    Map<String, String> longer = new LinkedHashMap<>(cell);
                    longer.put(name, value);
                    more.add(longer);
                }
            }
            cells = more;
        }
        return cells;
    }

    private static String firstValue(String parameter) {
        try {
            return JdbcBenchmark.Cell.class.getField(parameter).getAnnotation(Param.class).value()[0];
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(e);
        }
    }

    private static int number(Map<String, String> cell, String name) {
        try {
            return Integer.parseInt(cell.get(name));
        } catch (NumberFormatException e) {
            throw new Refusal(name + " must be a number, got \"" + cell.get(name) + "\"");
        }
    }
}
