package zoo;

import com.ibm.wsspi.threading.ExecutorServiceTaskInterceptor;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadFactory;

/** Hands each task of Liberty's executor on to a virtual thread; the {@code bell} of {@code server.xml} loads it. */
public final class VirtualThreads implements ExecutorServiceTaskInterceptor {

    private static final ThreadFactory THREADS = Thread.ofVirtual().name("liberty-virtual-", 0).factory();

    @Override
    public Runnable wrap(Runnable task) {
        return () -> THREADS.newThread(task).start();
    }

    /** Left to the pool, as somebody waits for its result; a request is never one. */
    @Override
    public <T> Callable<T> wrap(Callable<T> task) {
        return task;
    }
}
