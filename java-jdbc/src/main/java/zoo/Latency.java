package zoo;

/** Where a task waits in addition to its query: nowhere, asleep before it takes a connection, or for the wire. */
record Latency(String kind, int millis) {

    static Latency of(String label) {
        if (!label.matches("none|(sleep|wire)-[0-9]{1,4}")) {
            throw new IllegalArgumentException(
                    "latency must be none, sleep-N or wire-N with N in milliseconds, got \"" + label + "\"");
        }
        String[] words = label.split("-");
        return new Latency(words[0], words.length == 1 ? 0 : Integer.parseInt(words[1]));
    }

    /** The wait without a connection. */
    void sleep() throws InterruptedException {
        if (kind.equals("sleep")) {
            Thread.sleep(millis);
        }
    }

    /**
     * Operations per second that no executor can exceed; infinite where nothing bounds them. On the wire a task keeps
     * its thread and its connection for each round trip; asleep it keeps only its thread.
     */
    double bound(double threads, int connections, int roundTrips, double addedMillis) {
        return switch (kind) {
            case "sleep" -> threads * 1000 / millis;
            case "wire" -> Math.min(threads, connections) * 1000 / (roundTrips * addedMillis);
            default -> Double.POSITIVE_INFINITY;
        };
    }
}
