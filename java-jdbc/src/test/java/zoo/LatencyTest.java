package zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Locale;
import org.junit.jupiter.api.Test;

class LatencyTest {
    private static final double UNBOUNDED = Double.POSITIVE_INFINITY;

    @Test
    void tenConnectionsAndTenMillisecondsAreAThousandASecond() {
        assertEquals(1000, bound("wire-10", 10, 1, UNBOUNDED, 10));
    }

    @Test
    void aQueryOfTwoRoundTripsHoldsItsConnectionTwice() {
        assertEquals(500, bound("wire-10", 10, 2, UNBOUNDED, 10));
    }

    @Test
    void theWireIsTakenAsItWasMeasured() {
        assertEquals(800, bound("wire-10", 12.5, 1, UNBOUNDED, 10));
    }

    @Test
    void fewerThreadsThanConnectionsAreTheBound() {
        assertEquals(1600, bound("wire-10", 10, 1, 16, 1000));
    }

    @Test
    void asleepOnlyThreadsAreTaken() {
        assertEquals(1600, bound("sleep-10", 0, 1, 16, 10));
        assertEquals(UNBOUNDED, bound("sleep-10", 0, 1, UNBOUNDED, 10));
    }

    @Test
    void withoutAWaitNothingBounds() {
        assertEquals(UNBOUNDED, bound("none", 0, 1, 10, 10));
    }

    @Test
    void aLatencyOfAnotherFormIsRefused() {
        IllegalArgumentException refusal = assertThrows(IllegalArgumentException.class, () -> Latency.of("10ms"));
        assertEquals(
                "latency must be none, sleep-N or wire-N with N in milliseconds, got \"10ms\"", refusal.getMessage());
    }

    @Test
    void labelsAreTheSameInTurkish() {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.of("tr"));
        try {
            assertEquals(Query.FIND_BY_CODE, Query.of("find-by-code"));
        } finally {
            Locale.setDefault(before);
        }
    }

    private static double bound(String latency, double added, int trips, double threads, int connections) {
        return Latency.of(latency).bound(threads, connections, trips, added);
    }
}
