import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads that wait for nothing: starts so many and prints the bytes of live heap that each of them takes. */
public final class Parked {

    private static final int COLLECTIONS = 3;  // until what the first ones found has been cleared away
    private static final int WARM_UPS = 5;
    private static final int WARM_UP_THREADS = 10_000;

    private static volatile boolean over;

    private Parked() {
    }

    public static void main(String[] args) throws InterruptedException {
        int count = Integer.parseInt(args[0]);
        for (int i = 0; i < WARM_UPS; i++) {  // a thread that parks in code that is not compiled yet takes more
            release(parked(WARM_UP_THREADS));
        }
        long before = live();
        Thread[] threads = parked(count);  // perhaps nobody else holds a parked one
        System.out.println((double) (live() - before) / count);
        Reference.reachabilityFence(threads);
    }

    private static Thread[] parked(int count) throws InterruptedException {
        over = false;
        Thread[] threads = new Thread[count];
        AtomicInteger begun = new AtomicInteger();
        for (int i = 0; i < count; i++) {
            threads[i] = Thread.startVirtualThread(() -> {
                begun.incrementAndGet();
                while (!over) {
                    LockSupport.park();
                }
            });
        }
        while (begun.get() < count || running(threads)) {
            Thread.sleep(100);
        }
        return threads;
    }

    private static void release(Thread[] threads) throws InterruptedException {
        over = true;
        for (Thread thread : threads) {
            LockSupport.unpark(thread);
            thread.join();
        }
    }

    private static boolean running(Thread[] threads) {
        for (Thread thread : threads) {
            if (thread.getState() != Thread.State.WAITING) {
                return true;
            }
        }
        return false;
    }

    private static long live() {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
