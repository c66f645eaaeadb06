package zoo;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** The two databases. */
enum Engine {
    POSTGRESQL("postgresql", "SHOW max_connections"),
    MARIADB("mariadb", "SELECT @@max_connections");

    final String label;
    private final String askMaxConnections;

    Engine(String label, String askMaxConnections) {
        this.label = label;
        this.askMaxConnections = askMaxConnections;
    }

    /** How many connections the server allows. */
    int maxConnections(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(askMaxConnections)) {
            row.next();
            return row.getInt(1);
        }
    }

    static Engine of(String label) {
        return Refusal.unlessOneOf("database", values(), engine -> engine.label, label);
    }
}
