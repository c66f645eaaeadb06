package zoo;

import java.sql.SQLException;
import java.util.Arrays;

/** What a task asks the database, and how often it waits for an answer while it holds a connection. */
enum Query {
    SELECT_ONE("select-one", 1) {
        @Override
        Object run(Countries countries, String code) throws SQLException {
            return countries.selectOne();
        }
    },
    FIND_BY_CODE("find-by-code", 1) {
        @Override
        Object run(Countries countries, String code) throws SQLException {
            return countries.findByCode(code);
        }
    },
    UPDATE_AND_GROUP("update-and-group", 2) {
        @Override
        Object run(Countries countries, String code) throws SQLException {
            return countries.updateAndGroup(code);
        }
    };

    final String label;
    final int roundTrips;

    Query(String label, int roundTrips) {
        this.label = label;
        this.roundTrips = roundTrips;
    }

    abstract Object run(Countries countries, String code) throws SQLException;

    static Query of(String label) {
        return Arrays.stream(values())
                .filter(query -> query.label.equals(label))
                .findFirst()
                .orElseThrow(() -> Refusal.oneOf("query", Arrays.stream(values()).map(q -> q.label), label));
    }
}
