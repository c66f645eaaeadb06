package zoo;

import com.ibm.wsspi.kernel.embeddable.Server;
import com.ibm.wsspi.kernel.embeddable.ServerBuilder;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.util.Locale;
import java.util.Map;

/**
 * Starts Liberty within this process: one JVM with one process id, whose exit code and output are ours.
 *
 * <p>What makes a variant is which library the {@code bell} in {@code server.xml} is given. In {@code platform} it has
 * nothing: Liberty's own pool takes each request. In {@code virtual} it has {@link VirtualThreads}, an interceptor:
 * {@snippet : public Runnable wrap(Runnable task) { return () -> THREADS.newThread(task).start(); }}
 */
public final class Main {

    public static void main(String[] args) throws Exception {
        Settings settings;
        try {
            settings = Settings.from(System.getenv(), 8104, "platform", "virtual");
        } catch (IllegalArgumentException bad) {
            System.err.println(bad.getMessage());
            System.exit(2);
            return;
        }
        refuseTakenPort(settings);

        PrintStream console = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));  // Liberty would announce each step there
        File work = Files.createTempDirectory("java-liberty-").toFile();
        Server liberty = new ServerBuilder().setName("zoo").setOutputDir(work).build();
        Drain drain = new Drain(liberty, work);
        drain.onSignals();
        boolean pool = settings.variant().equals("platform");
        Map<String, String> variables = Map.of(
                "zoo.variant", settings.variant(),
                "zoo.host", settings.address().getHostAddress(),
                "zoo.port", Integer.toString(settings.port()),
                "zoo.backlog", Integer.toString(Math.min(settings.backlog(), 512)),  // it refuses a greater one
                "zoo.threads", Integer.toString(pool ? settings.maxThreads().orElse(-1) : -1),
                "com.ibm.ws.logging.console.log.level", "OFF");
        if (!liberty.start(variables).get().successful() || !opensPort(settings)) {
            System.err.println("Liberty did not start; its log:");
            Files.copy(work.toPath().resolve("zoo/logs/messages.log"), System.err);
            drain.end(1);
        }
        console.println("listening on http://%s (java-liberty:%s)".formatted(settings.authority(), settings.variant()));
        Thread.currentThread().join();  // for ever: all of Liberty's threads are daemons
    }

    /** Liberty would log a taken port and go on without it. */
    private static void refuseTakenPort(Settings settings) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(settings.address(), settings.port()));
        } catch (IOException taken) {
            System.err.println("cannot listen on " + settings.authority() + ": "
                    + taken.getMessage().toLowerCase(Locale.ROOT));
            System.exit(1);
        }
    }

    /** Liberty opens the port when its application has started, soon after it calls itself started. */
    private static boolean opensPort(Settings settings) throws InterruptedException {
        for (int look = 0; look < 3_000; look++) {
            try (Socket probe = new Socket(settings.address(), settings.port())) {
                return probe.isConnected();
            } catch (IOException notYet) {
                Thread.sleep(10);
            }
        }
        return false;
    }
}
