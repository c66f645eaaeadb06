package zoo;

import java.util.Arrays;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Something a person can mend; the message says what was expected. */
final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;

    Refusal(String message) {
        super(message);
    }

    Refusal(String message, Throwable cause) {
        super(message, cause);
    }

    /** The value with this label; the refusal names all of them. */
    static <T> T unlessOneOf(String name, T[] values, Function<T, String> labelOf, String label) {
        return Arrays.stream(values)
                .filter(value -> labelOf.apply(value).equals(label))
                .findFirst()
                .orElseThrow(() -> new Refusal(name + " must be one of "
                        + Arrays.stream(values).map(labelOf).collect(Collectors.joining(", "))
                        + ", got \"" + label + "\""));
    }
}
