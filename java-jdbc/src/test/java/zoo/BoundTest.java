package zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Locale;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class BoundTest {
    private static final int MANY = Integer.MAX_VALUE;

    @Test
    void tenConnectionsAndTenMillisecondsAreAThousandASecond() {
        assertEquals(OptionalDouble.of(1000), bound("wire-10", 10, 1, MANY, 10));
    }

    @Test
    void aQueryOfTwoRoundTripsHoldsItsConnectionTwice() {
        assertEquals(OptionalDouble.of(500), bound("wire-10", 10, 2, MANY, 10));
    }

    @Test
    void theWireIsTakenAsItWasMeasured() {
        assertEquals(OptionalDouble.of(800), bound("wire-10", 12.5, 1, MANY, 10));
    }

    @Test
    void fewerThreadsThanConnectionsAreTheBound() {
        assertEquals(OptionalDouble.of(1600), bound("wire-10", 10, 1, 16, 1000));
    }

    @Test
    void asleepOnlyThreadsAreTaken() {
        assertEquals(OptionalDouble.of(1600), bound("sleep-10", 0, 1, 16, 10));
        assertEquals(OptionalDouble.empty(), bound("sleep-10", 0, 1, MANY, 10));
    }

    @Test
    void withoutAWaitNothingBounds() {
        assertEquals(OptionalDouble.empty(), bound("none", 0, 1, 10, 10));
    }

    @Test
    void aLatencyOfAnotherFormIsRefused() {
        Refusal refusal = assertThrows(Refusal.class, () -> Latency.of("10ms"));
        assertEquals(
                "latency must be none, sleep-N or wire-N with N in milliseconds, got \"10ms\"", refusal.getMessage());
    }

    @Test
    void aLatencyIsReadInTheSameWayInTurkish() {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.of("tr"));
        try {
            assertEquals(new Latency(Latency.Kind.WIRE, 10), Latency.of("wire-10"));
        } finally {
            Locale.setDefault(before);
        }
    }

    private static OptionalDouble bound(String latency, double added, int trips, int threads, int connections) {
        return Bound.opsPerSecond(Latency.of(latency), added, trips, threads, connections);
    }
}
