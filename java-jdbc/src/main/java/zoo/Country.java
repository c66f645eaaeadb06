package zoo;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.LocalDateTime;

/** A row of the table. {@code currency} is null where there is none; {@code former}: it exists no more. */
record Country(int id, String code, String name, String currency, boolean former, LocalDateTime updated) {

    static Country of(ResultSet row) throws SQLException {
        return new Country(
                row.getInt("id"),
                row.getString("code"),
                row.getString("name"),
                row.getString("currency"),
                row.getBoolean("former"),
                row.getObject("updated", LocalDateTime.class));
    }
}
