package zoo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/** Database and wire for one cell. It leaves nothing behind, also when the launcher is told to stop. */
final class Stage implements AutoCloseable {
    private final Path folder;
    private final Thread hook = new Thread(this::abort);
    private volatile Server server;
    private Wire wire;
    private Link link;
    private int maxConnections;
    private boolean closed;

    private Stage(Path folder) {
        this.folder = folder;
    }

    static Stage set(Engine engine, int maxConnections, Latency latency)
            throws IOException, InterruptedException, SQLException {
        Stage stage = new Stage(Files.createTempDirectory(
                "zoo-jdbc-", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx--x--x"))));
        Runtime.getRuntime().addShutdownHook(stage.hook);
        try {
            stage.raise(engine, maxConnections, latency);
            return stage;
        } catch (IOException | InterruptedException | SQLException | RuntimeException e) {
            stage.close();
            throw e;
        }
    }

    Link link() {
        return link;
    }

    /** As the server says; another's server keeps its own limit. */
    int maxConnections() {
        return maxConnections;
    }

    /** When the database ends, so does what waits for it. */
    void onDeath(Runnable action) {
        server.onDeath(action);
    }

    /** Tells a death from other failures. */
    void refuseDead() {
        server.refuseDead();
        if (wire != null) {
            wire.refuseDead();
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        endForks();
        if (wire != null) {
            wire.close();
        }
        if (server != null) {
            server.close();
        }
        delete(folder);
    }

    /** Told to stop in the middle: also what has not been handed over yet, such as a program that makes a server. */
    private synchronized void abort() {
        Child.noMore();
        if (server == null) {
            List<ProcessHandle> others = ProcessHandle.current().descendants().toList();
            others.forEach(ProcessHandle::destroy);
            others.forEach(Stage::awaitEnd);
        }
        close();
    }

    private static void awaitEnd(ProcessHandle process) {
        try {
            process.onExit().get(20, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            process.destroyForcibly();
        }
    }

    /** The benchmark's JVMs. */
    static void endForks() {
        String java = ProcessHandle.current().info().command().orElse("");
        ProcessHandle.current()
                .children()
                .filter(child -> child.info().command().orElse("").equals(java))
                .forEach(ProcessHandle::destroyForcibly);
    }

    private void raise(Engine engine, int asked, Latency latency)
            throws IOException, InterruptedException, SQLException {
        Map<String, String> environment = System.getenv();
        server = environment.containsKey("JDBC_URL")
                ? Server.external(engine, environment)
                : Server.start(engine, asked, folder);
        try (Connection connection = server.connect()) {
            maxConnections = engine.maxConnections(connection);
        }
        double direct = RoundTrip.millis(server.url(), server.credentials());
        String url = server.url();
        double added = 0;
        if (latency.kind() == Latency.Kind.WIRE) {
            wire = Wire.open(folder, environment);
            url = wire.slowed(url, engine.defaultPort, latency.millis());
            added = RoundTrip.millis(url, server.credentials()) - direct;
        }
        Path credentials = folder.resolve("credentials");
        server.credentials().write(credentials);
        link = new Link(url, credentials, server.version(), server.pid(), direct, added);
    }

    private static void delete(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            System.err.println("java-jdbc: " + folder + " could not be removed: " + e.getMessage());
        }
    }
}
