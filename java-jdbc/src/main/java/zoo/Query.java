package zoo;

import java.sql.SQLException;

/** What a task asks the database, and how often it waits for an answer while it holds a connection. */
enum Query {
    SELECT_ONE("select-one", 1, (countries, code) -> countries.selectOne()),
    FIND_BY_CODE("find-by-code", 1, Countries::findByCode),
    UPDATE_AND_GROUP("update-and-group", 2, Countries::updateAndGroup);

    private interface Statements {
        Object run(Countries countries, String code) throws SQLException;
    }

    final String label;
    final int roundTrips;
    private final Statements statements;

    Query(String label, int roundTrips, Statements statements) {
        this.label = label;
        this.roundTrips = roundTrips;
        this.statements = statements;
    }

    Object run(Countries countries, String code) throws SQLException {
        return statements.run(countries, code);
    }

    static Query of(String label) {
        return Refusal.unlessOneOf("query", values(), query -> query.label, label);
    }
}
