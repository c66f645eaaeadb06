package zoo;

import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Supplier;

/** The executors that are compared. */
enum Workers {
    CACHED(Executors::newCachedThreadPool),
    FIXED_10(10, () -> Executors.newFixedThreadPool(10)),
    FIXED_200(200, () -> Executors.newFixedThreadPool(200)),
    VIRTUAL(Executors::newVirtualThreadPerTaskExecutor),
    /** {@link Batch} lets only as many of its tasks run at a time as the pool has connections. */
    VIRTUAL_SEMAPHORE(Executors::newVirtualThreadPerTaskExecutor),
    /** The caller of the common pool may help: one more than its parallelism. */
    FORKJOIN(ForkJoinPool.getCommonPoolParallelism() + 1, ForkJoinPool::commonPool),
    /** The common pool as on the host of the published measurement. */
    FORKJOIN_15(16, ForkJoinPool::commonPool);

    private static final String PARALLELISM_15 = "-Djava.util.concurrent.ForkJoinPool.common.parallelism=15";

    /** Tasks that run at a time. */
    final double limit;

    private final Supplier<ExecutorService> executor;

    Workers(Supplier<ExecutorService> executor) {
        this(Double.POSITIVE_INFINITY, executor);
    }

    Workers(double limit, Supplier<ExecutorService> executor) {
        this.limit = limit;
        this.executor = executor;
    }

    ExecutorService open() {
        if (this == FORKJOIN_15 && ForkJoinPool.getCommonPoolParallelism() != 15) {
            throw new IllegalStateException("forkjoin-15 needs the JVM argument " + PARALLELISM_15);
        }
        return executor.get();
    }

    /** Arguments of a JVM in which this executor can be opened. */
    List<String> jvmArguments() {
        return this == FORKJOIN_15 ? List.of(PARALLELISM_15) : List.of();
    }

    static Workers of(String label) {
        return Label.parse("executor", values(), label);
    }
}
