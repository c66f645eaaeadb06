package zoo;

import java.util.OptionalDouble;

/** What no executor can exceed: something that is taken for as long as a task waits, divided by that wait. */
final class Bound {
    private Bound() {}

    /**
     * Operations a second. On the wire a task keeps thread and connection for each round trip; asleep it keeps its
     * thread only.
     */
    static OptionalDouble opsPerSecond(Latency latency, double addedMillis, int roundTrips, int threads, int connections) {
        return switch (latency.kind()) {
            case NONE -> OptionalDouble.empty();
            case SLEEP -> threads == Integer.MAX_VALUE
                    ? OptionalDouble.empty()
                    : OptionalDouble.of(threads * 1000.0 / latency.millis());
            case WIRE -> OptionalDouble.of(Math.min(threads, connections) * 1000.0 / (roundTrips * addedMillis));
        };
    }
}
