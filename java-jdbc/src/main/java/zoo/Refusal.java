package zoo;

import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Something a person can mend; the message says what was expected. */
final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;

    Refusal(String message) {
        super(message);
    }

    Refusal(String message, Throwable cause) {
        super(message, cause);
    }

    static Refusal oneOf(String name, Stream<String> known, String got) {
        return new Refusal(name + " must be one of " + known.collect(Collectors.joining(", ")) + ", got \"" + got + "\"");
    }
}
