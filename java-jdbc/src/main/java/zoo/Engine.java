package zoo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;

/** The two databases: how a server is made and started, and how it is asked. */
enum Engine {
    POSTGRESQL("postgresql", "postgres", 5432, "SHOW max_connections") {
        @Override
        List<String> make(Path home, Path work, Credentials owner) throws IOException {
            Path password = Files.writeString(work.resolve("password"), owner.password());
            return List.of(
                    program(home, "initdb"),
                    "--pgdata=" + work.resolve("data"),
                    "--username=" + ADMINISTRATOR,
                    "--pwfile=" + password,
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--no-locale",
                    "--no-sync");
        }

        @Override
        List<String> serve(Path home, Path work, int port, int maxConnections) {
            return List.of(
                    program(home, server),
                    "-D", work.resolve("data").toString(),
                    "-p", Integer.toString(port),
                    "-c", "listen_addresses=127.0.0.1",
                    "-c", "unix_socket_directories=",
                    "-c", "max_connections=" + maxConnections,
                    // the table is thrown away, and the disk is not what is measured
                    "-c", "fsync=off");
        }

        @Override
        String firstUrl(int port) {
            return "jdbc:postgresql://127.0.0.1:" + port + "/postgres";
        }

        @Override
        String firstUser() {
            return ADMINISTRATOR;
        }

        /** An ordinary user: an administrator has connections of his own beyond the limit. */
        @Override
        void prepare(String url, Credentials owner) throws SQLException {
            try (Connection connection = DriverManager.getConnection(url, ADMINISTRATOR, owner.password());
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE ROLE zoo LOGIN PASSWORD '" + owner.password() + "'");
                statement.execute("CREATE DATABASE zoo OWNER zoo");
            }
        }

        /** Fast shutdown; on SIGTERM it would wait for its clients. */
        @Override
        String stopSignal() {
            return "INT";
        }
    },
    MARIADB("mariadb", "mariadbd", 3306, "SELECT @@max_connections") {
        @Override
        List<String> make(Path home, Path work, Credentials owner) throws IOException {
            Files.writeString(
                    work.resolve("init.sql"),
                    """
                    CREATE DATABASE zoo;
                    CREATE USER 'zoo'@'127.0.0.1' IDENTIFIED BY '%s';
                    GRANT ALL ON zoo.* TO 'zoo'@'127.0.0.1';
                    """
                            .formatted(owner.password()));
            // a shell script, which takes a path with a space for two
            Path plain = Files.createSymbolicLink(work.resolve("home"), home);
            return List.of(
                    program(plain, "mariadb-install-db"),
                    "--no-defaults",
                    "--basedir=" + plain,
                    "--datadir=" + work.resolve("data"),
                    "--auth-root-authentication-method=socket",
                    "--auth-root-socket-user=root",
                    "--skip-name-resolve",
                    "--skip-test-db");
        }

        @Override
        List<String> serve(Path home, Path work, int port, int maxConnections) {
            return List.of(
                    program(home, server),
                    "--no-defaults",
                    "--basedir=" + home,
                    "--datadir=" + work.resolve("data"),
                    "--tmpdir=" + work,
                    "--socket=" + work.resolve("socket"),
                    "--pid-file=" + work.resolve("pid"),
                    "--init-file=" + work.resolve("init.sql"),
                    "--bind-address=127.0.0.1",
                    "--port=" + port,
                    "--max-connections=" + maxConnections,
                    "--skip-name-resolve",
                    // nobody asks for it here, and making a certificate takes seconds of CPU time at the start
                    "--skip-ssl",
                    "--character-set-server=utf8mb4",
                    "--sort-buffer-size=1024K",
                    // as fsync=off above
                    "--innodb-flush-log-at-trx-commit=2");
        }

        @Override
        String url(int port) {
            return super.url(port) + "?sslMode=disable"; // as --skip-ssl below
        }

        @Override
        String firstUrl(int port) {
            return url(port);
        }

        @Override
        String firstUser() {
            return "zoo";
        }

        @Override
        void prepare(String url, Credentials owner) {
            // the server's --init-file has done it
        }

        @Override
        String stopSignal() {
            return "TERM";
        }
    };

    private static final String ADMINISTRATOR = "administrator";

    final String label;
    /** The server's program. */
    final String server;

    final int defaultPort;
    private final String askMaxConnections;

    Engine(String label, String server, int defaultPort, String askMaxConnections) {
        this.label = label;
        this.server = server;
        this.defaultPort = defaultPort;
        this.askMaxConnections = askMaxConnections;
    }

    /** The command that makes a server's files below {@code work}. */
    abstract List<String> make(Path home, Path work, Credentials owner) throws IOException;

    /** The command that serves them, in the foreground. */
    abstract List<String> serve(Path home, Path work, int port, int maxConnections);

    /** Where and as whom a new server is asked whether it is ready. */
    abstract String firstUrl(int port);

    abstract String firstUser();

    /** Makes the benchmark's user and database. */
    abstract void prepare(String url, Credentials owner) throws SQLException;

    abstract String stopSignal();

    String url(int port) {
        return "jdbc:" + label + "://127.0.0.1:" + port + "/zoo";
    }

    int maxConnections(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(askMaxConnections)) {
            row.next();
            return row.getInt(1);
        }
    }

    static String version(Connection connection) throws SQLException {
        return connection.getMetaData().getDatabaseProductName() + " "
                + connection.getMetaData().getDatabaseProductVersion();
    }

    static Engine of(String label) {
        return Arrays.stream(values())
                .filter(engine -> engine.label.equals(label))
                .findFirst()
                .orElseThrow(() -> Refusal.oneOf("database", Arrays.stream(values()).map(e -> e.label), label));
    }

    /** A program below a home folder; packagers choose different ones. */
    static String program(Path home, String name) {
        return List.of("bin", "sbin", "scripts", "libexec").stream()
                .map(folder -> home.resolve(folder).resolve(name))
                .filter(Files::isExecutable)
                .findFirst()
                .map(Path::toString)
                .orElseThrow(() -> new Refusal(name + " is missing below " + home));
    }
}
