package zoo;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;

/** The table and its three queries, in SQL that both databases accept. */
final class Countries {
    private static final String CREATE =
            """
            CREATE TABLE zoo_country (
                id INT PRIMARY KEY,
                code VARCHAR(4) NOT NULL UNIQUE,
                name VARCHAR(80) NOT NULL,
                currency CHAR(3),
                former BOOLEAN NOT NULL,
                updated TIMESTAMP(6) NOT NULL DEFAULT '2000-01-01 00:00:00'
            )
            """;
    private static final String FIND_BY_CODE =
            "SELECT id, code, name, currency, former, updated FROM zoo_country WHERE code = ?";
    private static final String UPDATE = "UPDATE zoo_country SET updated = CURRENT_TIMESTAMP(6) WHERE code = ?";
    /** Slow for so small a table: distinct counts, a condition on groups, a search by suffix, and one on the time. */
    private static final String GROUP =
            """
            SELECT currency, COUNT(DISTINCT name) AS countries, MAX(updated) AS latest
            FROM zoo_country
            WHERE updated > CURRENT_TIMESTAMP(6) - INTERVAL '10' SECOND
              AND currency IS NOT NULL
              AND name LIKE '%a'
            GROUP BY currency
            HAVING COUNT(DISTINCT name) > 1
            ORDER BY countries DESC, currency
            """;

    /** A row of the table; {@code currency} is null where there is none, {@code former} countries no longer exist. */
    record Country(int id, String code, String name, String currency, boolean former, LocalDateTime updated) {}

    /** A currency, how many of its countries were updated recently, and when the last one was. */
    record CurrencyGroup(String currency, int countries, LocalDateTime latest) {}

    private final DataSource connections;

    Countries(DataSource connections) {
        this.connections = connections;
    }

    int selectOne() throws SQLException {
        try (Connection connection = connections.getConnection();
                PreparedStatement statement = connection.prepareStatement("SELECT 1");
                ResultSet row = statement.executeQuery()) {
            row.next();
            return row.getInt(1);
        }
    }

    Optional<Country> findByCode(String code) throws SQLException {
        try (Connection connection = connections.getConnection();
                PreparedStatement statement = connection.prepareStatement(FIND_BY_CODE)) {
            statement.setString(1, code);
            try (ResultSet row = statement.executeQuery()) {
                if (!row.next()) {
                    return Optional.empty();
                }
                LocalDateTime updated = row.getObject("updated", LocalDateTime.class);
                return Optional.of(new Country(row.getInt("id"), row.getString("code"), row.getString("name"),
                        row.getString("currency"), row.getBoolean("former"), updated));
            }
        }
    }

    List<CurrencyGroup> updateAndGroup(String code) throws SQLException {
        try (Connection connection = connections.getConnection()) {
            try (PreparedStatement update = connection.prepareStatement(UPDATE)) {
                update.setString(1, code);
                update.executeUpdate();
            }
            try (PreparedStatement group = connection.prepareStatement(GROUP);
                    ResultSet rows = group.executeQuery()) {
                List<CurrencyGroup> groups = new ArrayList<>();
                while (rows.next()) {
                    LocalDateTime latest = rows.getObject("latest", LocalDateTime.class);
                    groups.add(new CurrencyGroup(rows.getString("currency"), rows.getInt("countries"), latest));
                }
                return groups;
            }
        }
    }

    /** Every code in the table. */
    static List<String> codes() {
        return rows().stream().map(words -> words[0]).toList();
    }

    /** Creates the table and fills it, in place of an earlier one. */
    static void create(Connection connection) throws SQLException {
        drop(connection);
        try (Statement statement = connection.createStatement()) {
            statement.execute(CREATE);
        }
        String insert = "INSERT INTO zoo_country (id, code, name, currency, former) VALUES (?, ?, ?, ?, ?)";
        try (PreparedStatement row = connection.prepareStatement(insert)) {
            int id = 0;
            for (String[] words : rows()) {
                row.setInt(1, ++id);
                row.setString(2, words[0]);
                row.setString(3, words[1]);
                row.setString(4, words[2].isEmpty() ? null : words[2]);
                row.setBoolean(5, words[0].length() == 4);
                row.addBatch();
            }
            row.executeBatch();
        }
    }

    static void drop(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS zoo_country");
        }
    }

    private static List<String[]> rows() {
        try (InputStream in = Countries.class.getResourceAsStream("/countries.tsv")) {
            String text = new String(in.readAllBytes(), UTF_8);
            return text.lines().filter(line -> !line.startsWith("#")).map(line -> line.split("\t", -1)).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
