package zoo;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

/** Runs many tasks at once on one executor and gathers their results. */
final class Batch implements AutoCloseable {
    private final ExecutorService executor;
    private final Semaphore permits;

    /** {@code connections}: how many tasks {@code virtual-semaphore} lets run at a time. */
    Batch(Workers workers, int connections) {
        executor = workers.open();
        permits = workers == Workers.VIRTUAL_SEMAPHORE ? new Semaphore(connections) : null;
    }

    <T> List<T> run(List<Callable<T>> tasks) throws InterruptedException, ExecutionException {
        AtomicReference<Exception> failure = new AtomicReference<>();
        List<Callable<T>> all = new ArrayList<>(tasks.size());
        for (Callable<T> task : tasks) {
            Callable<T> guarded = unlessFailed(task, failure);
            all.add(permits == null ? guarded : admitted(guarded));
        }
        List<T> results = new ArrayList<>(tasks.size());
        for (Future<T> done : executor.invokeAll(all)) {
            results.add(done.get());
        }
        return results;
    }

    /** After one has failed the rest does nothing: each would wait in vain for a database that is gone. */
    private static <T> Callable<T> unlessFailed(Callable<T> task, AtomicReference<Exception> failure) {
        return () -> {
            if (failure.get() != null) {
                throw failure.get();
            }
            try {
                return task.call();
            } catch (Exception e) {
                failure.set(e);
                throw e;
            }
        };
    }

    private <T> Callable<T> admitted(Callable<T> task) {
        return () -> {
            permits.acquire();
            try {
                return task.call();
            } finally {
                permits.release();
            }
        };
    }

    @Override
    public void close() {
        executor.close();
    }
}
