package zoo;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;

/** What the environment asks for, checked before anything starts. The same text stands in every Java server. */
record Settings(String host, InetAddress address, int port, String variant, OptionalInt maxThreads, int backlog) {

    /** The first variant is the default. A bad value is an IllegalArgumentException that names variable and rule. */
    static Settings from(Map<String, String> env, int port, String... variants) {
        String host = env.getOrDefault("HOST", "127.0.0.1");
        return new Settings(host, address(host), number(env, "PORT", 65_535).orElse(port),
                choice(env, "VARIANT", variants), number(env, "MAX_THREADS", 100_000),
                number(env, "BACKLOG", 65_535).orElse(65_535));
    }

    /** One of the known words, the first of them where the variable is not set. */
    static String choice(Map<String, String> env, String name, String... known) {
        String text = env.getOrDefault(name, known[0]);
        if (!List.of(known).contains(text)) {
            throw new IllegalArgumentException(
                    "%s must be one of %s, got \"%s\"".formatted(name, String.join(", ", known), text));
        }
        return text;
    }

    /** The one rule for numbers, of the environment and of requests. */
    static int integer(String name, String text, int min, int max) {
        try {
            int value = Integer.parseInt(text);
            if (min <= value && value <= max) {
                return value;
            }
        } catch (NumberFormatException noInteger) {
            // told below
        }
        throw new IllegalArgumentException(String.format(
                Locale.ROOT, "%s must be an integer from %d to %d, got \"%s\"", name, min, max, text));
    }

    /** Host and port as in a URL, where an IPv6 address stands in brackets. */
    String authority() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }

    private static OptionalInt number(Map<String, String> env, String name, int max) {
        String text = env.get(name);
        return text == null ? OptionalInt.empty() : OptionalInt.of(integer(name, text, 1, max));
    }

    private static InetAddress address(String host) {
        try {
            if (!host.isEmpty()) {  // Java takes the empty name for the loopback address
                return InetAddress.getByName(host);
            }
        } catch (UnknownHostException unknown) {
            // told below
        }
        throw new IllegalArgumentException("HOST cannot be resolved: \"%s\"".formatted(host));
    }
}
