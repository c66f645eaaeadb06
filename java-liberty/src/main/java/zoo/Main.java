package zoo;

import com.ibm.wsspi.kernel.embeddable.Server;
import com.ibm.wsspi.kernel.embeddable.ServerBuilder;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;

/** Starts Liberty within this process: one JVM with one process id, whose exit code and output are ours. */
public final class Main {

    /** Liberty refuses a greater one. */
    private static final int LONGEST_BACKLOG = 512;
    private static final long LOOK_AGAIN_MS = 10;
    private static final int LOOKS = 3_000;

    private Main() {
    }

    public static void main(String[] args)
            throws IOException, URISyntaxException, InterruptedException, ExecutionException,
            ReflectiveOperationException {
        Settings settings;
        try {
            settings = Settings.from(System.getenv());
        } catch (IllegalArgumentException bad) {
            System.err.println(bad.getMessage());
            System.exit(2);
            return;
        }
        refuseTakenPort(settings);

        PrintStream console = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));  // Liberty would announce each step there
        WorkFolder folder = WorkFolder.create(settings.variant().label + ".xml");
        Drain.onSignals(folder);
        Server liberty = new ServerBuilder().setName(WorkFolder.SERVER)
                .setUserDir(folder.file()).setOutputDir(folder.file()).build();
        Server.Result started = liberty.start(properties(settings)).get();
        if (!started.successful() || !opensPort(settings)) {
            System.err.println("Liberty did not start; its log:");
            folder.printLog(System.err);
            folder.remove();
            Runtime.getRuntime().halt(1);
        }
        console.println("listening on http://%s (java-liberty:%s)".formatted(
                settings.authority(), settings.variant().label));
        Thread.currentThread().join();  // for ever: all of Liberty's threads are daemons
    }

    /** Liberty would log a taken port and go on without it. */
    private static void refuseTakenPort(Settings settings) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(settings.address(), settings.port()));
        } catch (IOException taken) {
            System.err.println("cannot listen on %s: %s".formatted(
                    settings.authority(), String.valueOf(taken.getMessage()).toLowerCase(Locale.ROOT)));
            System.exit(1);
        }
    }

    /** The variables of server.xml and its part for the variant. */
    private static Map<String, String> properties(Settings settings) throws URISyntaxException {
        Path jar = Path.of(Main.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        return Map.of(
                "zoo.host", settings.address().getHostAddress(),
                "zoo.port", Integer.toString(settings.port()),
                "zoo.connections", Integer.toString(Settings.MAX_CONNECTIONS),
                "zoo.backlog", Integer.toString(Math.min(settings.backlog(), LONGEST_BACKLOG)),
                "zoo.threads", Integer.toString(settings.maxThreads().orElse(-1)),
                "zoo.app", jar.resolveSibling("app").toString(),
                "com.ibm.ws.logging.console.log.level", "OFF");
    }

    /** Liberty opens the port when its application has started, soon after it calls itself started. */
    private static boolean opensPort(Settings settings) throws InterruptedException {
        for (int look = 0; look < LOOKS; look++) {
            if (accepts(settings)) {
                return true;
            }
            Thread.sleep(LOOK_AGAIN_MS);
        }
        return false;
    }

    private static boolean accepts(Settings settings) {
        try (Socket probe = new Socket(settings.address(), settings.port())) {
            return probe.isConnected();
        } catch (IOException notYet) {
            return false;
        }
    }
}
