package zoo.shared;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/** The settings in the environment. Every Java server contains the same text. */
public record Settings(String host, InetAddress address, int port, String variant, int maxThreads, int backlog) {

    /** Reads them, or exits with one line. The first variant is the default; 0 threads: the server decides. */
    public static Settings read(int port, int maxThreads, String... variants) {
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        try {
            return new Settings(host, InetAddress.getByName(host), number("PORT", port, 65_535),
                    choice("VARIANT", variants), number("MAX_THREADS", maxThreads, 100_000),
                    number("BACKLOG", 65_535, 65_535));
        } catch (IllegalArgumentException bad) {
            throw exit(bad.getMessage());
        } catch (UnknownHostException unknown) {
            throw exit("HOST cannot be resolved: " + host);
        }
    }

    /** Returns the variable, by default the first known value, or exits with one line. */
    public static String choice(String name, String... known) {
        String text = System.getenv().getOrDefault(name, known[0]);
        if (!List.of(known).contains(text)) {
            throw exit("%s must be one of %s, got \"%s\"".formatted(name, String.join(", ", known), text));
        }
        return text;
    }

    /** Returns the number, in the environment or in a request. */
    public static int integer(String name, String text, int min, int max) {
        try {
            int value = Integer.parseInt(text);
            if (min <= value && value <= max) {
                return value;
            }
        } catch (NumberFormatException notAnInteger) {
            // rejected below
        }
        throw new IllegalArgumentException(
                "%s must be an integer from %s to %s, got \"%s\"".formatted(name, min, max, text));
    }

    /** Prints the line and ends the process; the exception is for the compiler. */
    public static IllegalStateException exit(String line) {
        System.err.println(line);
        System.exit(1);
        return new IllegalStateException(line);
    }

    private static int number(String name, int otherwise, int max) {
        return System.getenv(name) == null ? otherwise : integer(name, System.getenv(name), 1, max);
    }

    /** Returns host and port as in a URL, with an IPv6 address in brackets. */
    public String authority() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}
