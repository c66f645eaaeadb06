package zoo;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLDecoder;
import java.util.OptionalInt;

/** Reads integers from a query string. Not request.params(): broken encoding in any parameter would fail them all. */
final class Query {

    static final int REQUIRED = -1;

    /** Its message is the answer. */
    static final class BadParameter extends Exception {

        private static final long serialVersionUID = 1;

        private BadParameter(String name, int max) {
            super("%s must be an integer from 0 to %d".formatted(name, max), null, false, false);
        }
    }

    private Query() {
    }

    static int integer(String query, String name, int max, int otherwise) throws BadParameter {
        String found = null;
        for (String pair : query == null ? new String[0] : query.split("&")) {
            String[] parts = pair.split("=", 2);
            if (decoded(parts[0]).equals(name)) {
                found = found == null && parts.length == 2 ? decoded(parts[1]) : "";  // given twice is bad
            }
        }
        if (found == null && otherwise != REQUIRED) {
            return otherwise;
        }
        OptionalInt value = found == null ? OptionalInt.empty() : Settings.integer(found, 0, max);
        return value.orElseThrow(() -> new BadParameter(name, max));
    }

    /** The text behind the percent-encoding, or "" (no name and no number) where that is broken. */
    private static String decoded(String text) {
        try {
            return URLDecoder.decode(text, UTF_8);
        } catch (IllegalArgumentException broken) {
            return "";
        }
    }
}
