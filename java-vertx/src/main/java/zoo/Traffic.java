package zoo;

import java.util.concurrent.atomic.LongAdder;

/** Counts requests, and knows when the last one in flight has been answered. */
final class Traffic {

    private final LongAdder begun = new LongAdder();
    private final LongAdder ended = new LongAdder();
    private volatile boolean stopping;

    void begin() {
        begun.increment();
    }

    void end() {
        ended.increment();
    }

    long requests() {
        return begun.sum();
    }

    boolean inFlight() {
        long done = ended.sum();  // first: else a request that ends between the two sums would hide another
        return begun.sum() > done;
    }

    void stop() {
        stopping = true;
    }

    /** From now on every answer is the last one on its connection. */
    boolean stopping() {
        return stopping;
    }
}
