package zoo;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

/** Runs many tasks at once on one executor and collects their results. */
final class Batch implements AutoCloseable {
    private final ExecutorService executor;
    private final Semaphore permits;

    /** With {@code virtual-semaphore}, at most {@code connections} tasks run at a time. */
    Batch(Workers workers, int connections) {
        executor = workers.open();
        permits = workers == Workers.VIRTUAL_SEMAPHORE ? new Semaphore(connections) : null;
    }

    <T> List<T> run(List<Callable<T>> tasks) throws InterruptedException, ExecutionException {
        AtomicReference<Exception> failure = new AtomicReference<>();
        List<Callable<T>> all = new ArrayList<>(tasks.size());
        for (Callable<T> task : tasks) {
            all.add(() -> call(task, failure));
        }
        List<T> results = new ArrayList<>(tasks.size());
        for (Future<T> done : executor.invokeAll(all)) {
            results.add(done.get());
        }
        return results;
    }

    /** After one task has failed the others end at once: each would wait in vain for a database that is gone. */
    private <T> T call(Callable<T> task, AtomicReference<Exception> failure) throws Exception {
        if (permits != null) {
            permits.acquire();
        }
        try {
            if (failure.get() != null) {
                throw failure.get();
            }
            return task.call();
        } catch (Exception e) {
            failure.set(e);
            throw e;
        } finally {
            if (permits != null) {
                permits.release();
            }
        }
    }

    @Override
    public void close() {
        executor.close();
    }
}
