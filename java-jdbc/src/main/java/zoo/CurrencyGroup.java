package zoo;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.LocalDateTime;

/** A currency, how many of its countries were updated of late, and when the last one was. */
record CurrencyGroup(String currency, int countries, LocalDateTime latest) {

    static CurrencyGroup of(ResultSet row) throws SQLException {
        return new CurrencyGroup(
                row.getString("currency"), row.getInt("countries"), row.getObject("latest", LocalDateTime.class));
    }
}
