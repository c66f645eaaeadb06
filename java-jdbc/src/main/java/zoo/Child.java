package zoo;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process of ours that serves others, with its log. */
final class Child implements AutoCloseable {
    private static final int LINES = 15;

    private static boolean stopping;

    private final String name;
    private final Process process;
    private final Path log;
    private final String stopSignal;
    private volatile boolean closing;

    private Child(String name, Process process, Path log, String stopSignal) {
        this.name = name;
        this.process = process;
        this.log = log;
        this.stopSignal = stopSignal;
    }

    static Child start(String name, List<String> command, Path log, String stopSignal) throws IOException {
        return new Child(name, begin(command, log), log, stopSignal);
    }

    /** A command that ends by itself. */
    static void complete(String name, List<String> command, Path log) throws IOException, InterruptedException {
        int code = begin(command, log).waitFor();
        if (code != 0) {
            throw new Refusal(name + " ended with exit code " + code + "\n" + tail(log));
        }
    }

    long pid() {
        return process.pid();
    }

    /** Runs when the process ends without having been told to. */
    void onDeath(Runnable action) {
        process.onExit().thenRun(() -> {
            if (!closing) {
                action.run();
            }
        });
    }

    void refuseDead() {
        if (!process.isAlive() && !closing) {
            throw new Refusal(name + " ended with exit code " + process.exitValue() + "\n" + tail(log));
        }
    }

    @Override
    public synchronized void close() {
        closing = true;
        try {
            if (process.isAlive()) {
                // the shell's own kill: not every system has the program
                new ProcessBuilder("sh", "-c", "kill -s " + stopSignal + " " + process.pid()).start().waitFor();
            }
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (IOException | InterruptedException e) {
            process.destroyForcibly().onExit().join();
        }
    }

    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** From now on nothing is started: who is told to stop must know all that runs. */
    static synchronized void noMore() {
        stopping = true;
    }

    private static synchronized Process begin(List<String> command, Path log) throws IOException {
        if (stopping) {
            throw new Refusal("told to stop");
        }
        return new ProcessBuilder(command)
                .directory(log.getParent().toFile())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
    }

    static String tail(Path log) {
        try {
            List<String> lines = Files.readAllLines(log, StandardCharsets.ISO_8859_1);
            return String.join("\n", lines.subList(Math.max(0, lines.size() - LINES), lines.size()));
        } catch (IOException e) {
            return "";
        }
    }
}
