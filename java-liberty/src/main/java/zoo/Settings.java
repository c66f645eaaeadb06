package zoo;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What the environment asks for; a bad value is an IllegalArgumentException whose message is for the user. */
record Settings(String host, InetAddress address, int port, Variant variant, OptionalInt maxThreads, int backlog) {

    /** The most that Liberty takes is 1,280,000. */
    static final int MAX_CONNECTIONS = 1_000_000;

    enum Variant {
        PLATFORM("platform-thread"), VIRTUAL("virtual-thread");

        final String label = name().toLowerCase(Locale.ROOT);
        final String model;

        Variant(String model) {
            this.model = model;
        }
    }

    static Settings from(Map<String, String> env) {
        String host = env.getOrDefault("HOST", "127.0.0.1");
        return new Settings(host, resolve(host), integer(env, "PORT", 65_535).orElse(8104), variant(env),
                integer(env, "MAX_THREADS", 100_000), integer(env, "BACKLOG", 65_535).orElse(65_535));
    }

    /** The authority part of this server's URL. */
    String authority() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }

    /** ASCII digits only, unlike Long.parseLong, which takes signs and the digits of every script. */
    static OptionalLong integer(String text, long min, long max) {
        if (!text.matches("[0-9]{1,19}")) {
            return OptionalLong.empty();
        }
        long value = Long.parseUnsignedLong(text);  // above Long.MAX_VALUE it is negative, so out of range
        return min <= value && value <= max ? OptionalLong.of(value) : OptionalLong.empty();
    }

    /** Empty where the variable is not set: Liberty's pool is as shipped unless MAX_THREADS is. */
    private static OptionalInt integer(Map<String, String> env, String name, int max) {
        String text = env.get(name);
        if (text == null) {
            return OptionalInt.empty();
        }
        long value = integer(text, 1, max).orElseThrow(() -> new IllegalArgumentException(
                "%s must be an integer from 1 to %d, got \"%s\"".formatted(name, max, text)));
        return OptionalInt.of((int) value);
    }

    private static Variant variant(Map<String, String> env) {
        String text = env.getOrDefault("VARIANT", Variant.PLATFORM.label);
        List<String> labels = Arrays.stream(Variant.values()).map(v -> v.label).toList();
        if (!labels.contains(text)) {
            throw new IllegalArgumentException(
                    "VARIANT must be one of %s, got \"%s\"".formatted(String.join(", ", labels), text));
        }
        return Variant.valueOf(text.toUpperCase(Locale.ROOT));
    }

    private static InetAddress resolve(String host) {
        try {
            if (!host.isEmpty()) {  // getByName takes an empty name for the loopback address
                return InetAddress.getByName(host);
            }
        } catch (UnknownHostException unknown) {
            // told below
        }
        throw new IllegalArgumentException("HOST cannot be resolved: \"%s\"".formatted(host));
    }
}
