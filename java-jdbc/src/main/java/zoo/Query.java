package zoo;

import java.sql.SQLException;

/** What a task asks the database, and how often it waits for an answer while it holds a connection. */
enum Query {
    SELECT_ONE(1, (countries, code) -> countries.selectOne()),
    FIND_BY_CODE(1, Countries::findByCode),
    UPDATE_AND_GROUP(2, Countries::updateAndGroup);

    interface Statements {
        Object run(Countries countries, String code) throws SQLException;
    }

    final int roundTrips;
    final Statements statements;

    Query(int roundTrips, Statements statements) {
        this.roundTrips = roundTrips;
        this.statements = statements;
    }

    static Query of(String label) {
        return Label.parse("query", values(), label);
    }
}
