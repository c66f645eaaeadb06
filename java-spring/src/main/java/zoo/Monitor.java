package zoo;

/** A monitor of the request's own, so that nobody waits for it; it may still hold the carrier of a virtual thread. */
final class Monitor {

    /** Published, else the compiler would see that no other thread can want the monitor, and leave it out. */
    private static volatile Monitor newest;

    private Monitor() {
    }

    static void sleepInside(long ms) throws InterruptedException {
        Monitor monitor = new Monitor();
        newest = monitor;
        synchronized (monitor) {
            Thread.sleep(ms);
        }
    }
}
