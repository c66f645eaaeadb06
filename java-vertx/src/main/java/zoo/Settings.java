package zoo;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What the environment asks for; a bad value is an IllegalArgumentException whose message is for the user. */
record Settings(String host, InetAddress address, int port, Variant variant, int maxThreads, int backlog) {

    enum Variant {
        EVENTLOOP("event-loop"), PLATFORM("platform-thread"), VIRTUAL("virtual-thread");

        final String label = name().toLowerCase(Locale.ROOT);
        final String model;

        Variant(String model) {
            this.model = model;
        }
    }

    private static final Pattern DIGITS = Pattern.compile("[0-9]{1,19}");

    static Settings of(Map<String, String> environment) {
        String host = environment.getOrDefault("HOST", "127.0.0.1");
        return new Settings(host, address(host), integer(environment, "PORT", 65_535, 8102), variant(environment),
                integer(environment, "MAX_THREADS", 100_000, 200), integer(environment, "BACKLOG", 65_535, 65_535));
    }

    private static InetAddress address(String host) {
        try {
            if (!host.isEmpty()) {  // Java takes the empty name for the loopback address
                return InetAddress.getByName(host);
            }
        } catch (UnknownHostException unknown) {
            // as bad as an empty one
        }
        throw new IllegalArgumentException("HOST cannot be resolved: \"%s\"".formatted(host));
    }

    private static Variant variant(Map<String, String> environment) {
        String label = environment.getOrDefault("VARIANT", Variant.EVENTLOOP.label);
        return Arrays.stream(Variant.values()).filter(variant -> variant.label.equals(label)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("VARIANT must be one of %s, got \"%s\"".formatted(
                        Arrays.stream(Variant.values()).map(variant -> variant.label).collect(Collectors.joining(", ")),
                        label)));
    }

    private static int integer(Map<String, String> environment, String name, int max, int otherwise) {
        String value = environment.getOrDefault(name, Integer.toString(otherwise));
        return integer(value, 1, max).orElseThrow(() -> new IllegalArgumentException(
                "%s must be an integer from 1 to %d, got \"%s\"".formatted(name, max, value)));
    }

    /** The one rule for integers, in the environment and in a query. */
    static OptionalInt integer(String text, int min, int max) {
        if (!DIGITS.matcher(text).matches()) {
            return OptionalInt.empty();
        }
        long value = Long.parseUnsignedLong(text);  // 19 digits may turn negative, and are out of range then too
        return value >= min && value <= max ? OptionalInt.of((int) value) : OptionalInt.empty();
    }
}
