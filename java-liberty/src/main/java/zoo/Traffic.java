package zoo;

import java.util.concurrent.atomic.LongAdder;

/** Requests begun, and those not yet ended. */
public final class Traffic implements TrafficMBean {

    private final LongAdder requests = new LongAdder();
    private final LongAdder inFlight = new LongAdder();

    void begin() {
        requests.increment();
        inFlight.increment();
    }

    void end() {
        inFlight.decrement();
    }

    @Override
    public long getRequests() {
        return requests.sum();
    }

    @Override
    public long getInFlight() {
        return inFlight.sum();
    }
}
