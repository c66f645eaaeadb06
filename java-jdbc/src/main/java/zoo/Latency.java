package zoo;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where a task waits besides its query: nowhere, asleep before it takes a connection, or for the wire. */
record Latency(Kind kind, int millis) {
    enum Kind {
        NONE,
        SLEEP,
        WIRE
    }

    private static final Pattern FORM = Pattern.compile("(sleep|wire)-([0-9]{1,4})");

    static Latency of(String label) {
        if (label.equals("none")) {
            return new Latency(Kind.NONE, 0);
        }
        Matcher words = FORM.matcher(label);
        if (!words.matches()) {
            throw new Refusal(
                    "latency must be none, sleep-N or wire-N with N in milliseconds, got \"" + label + "\"");
        }
        return new Latency(Kind.valueOf(words.group(1).toUpperCase(Locale.ROOT)), Integer.parseInt(words.group(2)));
    }

    /** The wait outside of the connection. */
    void sleep() throws InterruptedException {
        if (kind == Kind.SLEEP) {
            Thread.sleep(millis);
        }
    }
}
