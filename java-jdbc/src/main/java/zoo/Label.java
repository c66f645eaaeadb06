package zoo;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The names of enum constants on the command line: {@code fixed-10} for {@code FIXED_10}. */
final class Label {
    private Label() {}

    static String of(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Returns the constant with this label; the error lists all labels. */
    static <E extends Enum<E>> E parse(String parameter, E[] constants, String label) {
        return Arrays.stream(constants)
                .filter(constant -> of(constant).equals(label))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(parameter + " must be one of "
                        + Arrays.stream(constants).map(Label::of).collect(Collectors.joining(", "))
                        + ", got \"" + label + "\""));
    }
}
