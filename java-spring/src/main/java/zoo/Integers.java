package zoo;

import java.util.OptionalInt;
import java.util.regex.Pattern;

/** The one rule for integers, in the environment and in the query string. */
final class Integers {

    private static final Pattern DIGITS = Pattern.compile("[0-9]{1,19}");

    private Integers() {
    }

    static OptionalInt parse(String text, int min, int max) {
        if (text == null || !DIGITS.matcher(text).matches()) {
            return OptionalInt.empty();
        }
        long value = Long.parseUnsignedLong(text); // 19 digits may turn negative, and are out of range then as well
        return value >= min && value <= max ? OptionalInt.of((int) value) : OptionalInt.empty();
    }

    static String rule(String name, int min, int max) {
        return "%s must be an integer from %d to %d".formatted(name, min, max);
    }
}
