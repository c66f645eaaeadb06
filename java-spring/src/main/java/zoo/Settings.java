package zoo;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;

/** Checks the environment before Spring starts, so that a bad value costs one line and not a stack trace. */
final class Settings {

    private static final List<String> VARIANTS = List.of("platform", "virtual");

    private Settings() {
    }

    /** Throws an {@link IllegalArgumentException} that names the variable and what it must be. */
    static void check(Map<String, String> environment) {
        String host = environment.get("HOST");
        if (host != null && !resolves(host)) {
            throw new IllegalArgumentException("HOST cannot be resolved: \"%s\"".formatted(host));
        }
        checkInteger(environment, "PORT", 65_535);
        String variant = environment.get("VARIANT");
        if (variant != null && !VARIANTS.contains(variant)) {
            throw new IllegalArgumentException(
                    "VARIANT must be one of %s, got \"%s\"".formatted(String.join(", ", VARIANTS), variant));
        }
        checkInteger(environment, "MAX_THREADS", 100_000);
        checkInteger(environment, "BACKLOG", 65_535);
    }

    private static boolean resolves(String host) {
        try {
            InetAddress.getByName(host);
            return !host.isEmpty(); // Java takes the empty name for the loopback address
        } catch (UnknownHostException unknown) {
            return false;
        }
    }

    private static void checkInteger(Map<String, String> environment, String name, int max) {
        String value = environment.get(name);
        if (value != null && Integers.parse(value, 1, max).isEmpty()) {
            throw new IllegalArgumentException("%s, got \"%s\"".formatted(Integers.rule(name, 1, max), value));
        }
    }
}
