package zoo;

import static java.util.concurrent.TimeUnit.SECONDS;

import com.ibm.wsspi.kernel.embeddable.Server;
import com.ibm.wsspi.kernel.embeddable.ServerBuilder;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.Socket;
import java.nio.file.Files;
import java.util.Map;
import zoo.shared.Settings;

/**
 * Starts Liberty within this process. The variant is the library of the {@code bell} in {@code server.xml}. It is empty
 * in {@code platform}, where Liberty's own pool takes each request. In {@code virtual} it has an interceptor,
 * {@link VirtualThreads}: {@snippet : return () -> THREADS.newThread(task).start();}
 */
public final class Main {

    public static void main(String[] args) throws Exception {
        Settings settings = Settings.read(8104, 0, "platform", "virtual");  // 0: the pool finds its own size
        boolean fixed = settings.variant().equals("platform") && settings.maxThreads() > 0;
        Map<String, String> variables = Map.of(
                "zoo.variant", settings.variant(),
                "zoo.host", settings.address().getHostAddress(),
                "zoo.port", Integer.toString(settings.port()),
                "zoo.backlog", Integer.toString(Math.min(settings.backlog(), 512)),  // Liberty rejects more
                "zoo.threads", Integer.toString(fixed ? settings.maxThreads() : -1),
                "zoo.buffers", Settings.choice("BUFFERS", "raised", "default").equals("raised") ? "10000" : "30",
                "com.ibm.ws.logging.console.log.level", "OFF");
        if (accepts(settings)) {  // Liberty would log that, and go on without the port
            throw Settings.exit("cannot listen on %s: address already in use".formatted(settings.authority()));
        }
        PrintStream console = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));  // Liberty would announce each step there
        File work = Files.createTempDirectory("java-liberty-").toFile();
        Server liberty = new ServerBuilder().setName("zoo").setOutputDir(work).build();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(liberty, work)));
        if (!liberty.start(variables).get().successful()) {
            throw Settings.exit(Files.readString(work.toPath().resolve("zoo/logs/messages.log")));
        }
        while (!accepts(settings)) {  // it opens the port soon after it calls itself started
            Thread.sleep(10);
        }
        console.println("listening on http://%s (java-liberty:%s)".formatted(settings.authority(), settings.variant()));
        Thread.currentThread().join();  // forever: all of Liberty's threads are daemons
    }

    private static boolean accepts(Settings settings) {
        try (Socket probe = new Socket(settings.address(), settings.port())) {
            return probe.isConnected();
        } catch (IOException refused) {
            return false;
        }
    }

    /** Waits at most 10 s for Liberty, which drains by itself, and removes the folder that it writes to until then. */
    private static void stop(Server liberty, File work) {
        try {
            liberty.stop().get(10, SECONDS);
        } catch (Exception late) {
            // requests in flight are cut off
        }
        remove(work);
        Runtime.getRuntime().halt(143);  // Liberty's own hook would wait longer
    }

    private static void remove(File file) {
        for (File inside : file.isDirectory() ? file.listFiles() : new File[0]) {
            remove(inside);
        }
        file.delete();
    }
}
