package zoo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A database server with the table in it: started here for one cell, or somebody else's by JDBC_URL. */
final class Server implements AutoCloseable {
    private static final Duration READY_WITHIN = Duration.ofSeconds(90);
    private static final int LOGIN_SECONDS = 10;

    private final String url;
    private final Credentials credentials;
    private final String origin;
    private final long pid;
    /** Null for somebody else's. */
    private final Child child;

    private Server(String url, Credentials credentials, String origin, long pid, Child child) {
        this.url = url;
        this.credentials = credentials;
        this.origin = origin;
        this.pid = pid;
        this.child = child;
    }

    /** {@code folder}: an empty one, that others may pass through. */
    static Server start(Engine engine, int maxConnections, Path folder)
            throws IOException, InterruptedException, SQLException {
        Account account = Account.find();
        Programs programs = Programs.find(engine, account, folder);
        Credentials owner = Credentials.made("zoo");
        Path work = Files.createDirectory(
                folder.resolve("server"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path log = Files.createFile(folder.resolve("server.log"));
        Child.complete("making a server of " + engine.label, owned(account, work, engine.make(programs.home(), work, owner)), log);
        int port = Child.freePort();
        Child child = Child.start(
                engine.label,
                account.command(engine.serve(programs.home(), work, port, maxConnections)),
                log,
                engine.stopSignal());
        try {
            awaitReady(child, engine.firstUrl(port), engine.firstUser(), owner.password());
            engine.prepare(engine.firstUrl(port), owner);
            Server server = new Server(engine.url(port), owner, programs.origin(), child.pid(), child);
            server.fill();
            return server;
        } catch (SQLException | InterruptedException | RuntimeException e) {
            child.close();
            throw e;
        }
    }

    /**
     * The server of JDBC_URL, JDBC_USER and JDBC_PASSWORD. JDBC_ORIGIN says what it is, and JDBC_PID which process it
     * is, where that is one of this machine's.
     */
    static Server external(Engine engine, Map<String, String> environment) throws SQLException {
        String url = environment.get("JDBC_URL");
        if (!url.startsWith("jdbc:" + engine.label + ":")) {
            throw new Refusal("JDBC_URL is no URL of " + engine.label + ": " + url);
        }
        Credentials credentials = new Credentials(
                environment.getOrDefault("JDBC_USER", "zoo"), environment.getOrDefault("JDBC_PASSWORD", ""));
        String origin = environment.getOrDefault("JDBC_ORIGIN", "external");
        Server server = new Server(url, credentials, origin, pid(environment.getOrDefault("JDBC_PID", "-1")), null);
        try {
            server.fill();
        } catch (SQLException e) {
            throw new Refusal("cannot use " + url + ": " + e.getMessage(), e);
        }
        return server;
    }

    String url() {
        return url;
    }

    Credentials credentials() {
        return credentials;
    }

    /** -1 where it is not known. */
    long pid() {
        return pid;
    }

    /** Name, version and where the programs came from. */
    String version() throws SQLException {
        try (Connection connection = connect()) {
            return Engine.version(connection) + " (" + origin + ")";
        }
    }

    Connection connect() throws SQLException {
        DriverManager.setLoginTimeout(LOGIN_SECONDS);
        return DriverManager.getConnection(url, credentials.user(), credentials.password());
    }

    void onDeath(Runnable action) {
        if (child != null) {
            child.onDeath(action);
        }
    }

    void refuseDead() {
        if (child != null) {
            child.refuseDead();
            return;
        }
        try {
            connect().close();
        } catch (SQLException e) {
            throw new Refusal(url + " cannot be used any more: " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        if (child != null) {
            child.close();
            return;
        }
        try (Connection connection = connect()) {
            Countries.drop(connection);
        } catch (SQLException e) {
            System.err.println("java-jdbc: the table zoo_country was left at " + url + ": " + e.getMessage());
        }
    }

    private static long pid(String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new Refusal("JDBC_PID must be a process id, got \"" + text + "\"", e);
        }
    }

    private void fill() throws SQLException {
        try (Connection connection = connect()) {
            Countries.create(connection);
        }
    }

    private static List<String> owned(Account account, Path work, List<String> command)
            throws IOException {
        account.own(work);
        try (var files = Files.list(work)) {
            account.own(files.toArray(Path[]::new));
        }
        return account.command(command);
    }

    private static void awaitReady(Child child, String url, String user, String password)
            throws InterruptedException, SQLException {
        long end = System.nanoTime() + READY_WITHIN.toNanos();
        while (true) {
            child.refuseDead();
            try {
                DriverManager.getConnection(url, user, password).close();
                return;
            } catch (SQLException e) {
                if (System.nanoTime() > end) {
                    throw e;
                }
                Thread.sleep(100);
            }
        }
    }
}
