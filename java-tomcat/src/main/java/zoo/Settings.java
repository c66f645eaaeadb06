package zoo;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;

/** What the environment asks for; a bad value is an IllegalArgumentException whose message is for the user. */
record Settings(String host, InetAddress address, int port, Variant variant, boolean nio2, int maxThreads, int backlog) {

    enum Variant {
        PLATFORM("platform-thread"), VIRTUAL("virtual-thread"), ASYNC("async-servlet");

        final String label = name().toLowerCase(Locale.ROOT);
        final String model;

        Variant(String model) {
            this.model = model;
        }
    }

    static Settings from(Map<String, String> env) {
        String host = env.getOrDefault("HOST", "127.0.0.1");
        String variant = oneOf(env, "VARIANT", Arrays.stream(Variant.values()).map(v -> v.label).toList());
        return new Settings(host, resolve(host), integer(env, "PORT", 8101, 65_535),
                Variant.valueOf(variant.toUpperCase(Locale.ROOT)), oneOf(env, "CONNECTOR", List.of("nio", "nio2")).equals("nio2"),
                integer(env, "MAX_THREADS", 200, 100_000), integer(env, "BACKLOG", 65_535, 65_535));
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

    private static int integer(Map<String, String> env, String name, int otherwise, int max) {
        String text = env.getOrDefault(name, Integer.toString(otherwise));
        return (int) integer(text, 1, max).orElseThrow(() -> new IllegalArgumentException(
                "%s must be an integer from 1 to %d, got \"%s\"".formatted(name, max, text)));
    }

    private static String oneOf(Map<String, String> env, String name, List<String> allowed) {
        String text = env.getOrDefault(name, allowed.getFirst());
        if (!allowed.contains(text)) {
            throw new IllegalArgumentException(
                    "%s must be one of %s, got \"%s\"".formatted(name, String.join(", ", allowed), text));
        }
        return text;
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
