package zoo;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Supplier;

/** The executors that are compared. */
enum Workers {
    CACHED("cached", Integer.MAX_VALUE, Executors::newCachedThreadPool),
    FIXED_10("fixed-10", 10, () -> Executors.newFixedThreadPool(10)),
    FIXED_200("fixed-200", 200, () -> Executors.newFixedThreadPool(200)),
    VIRTUAL("virtual", Integer.MAX_VALUE, Executors::newVirtualThreadPerTaskExecutor),
    /** {@link Batch} lets only as many of its tasks run at a time as the pool has connections. */
    VIRTUAL_SEMAPHORE("virtual-semaphore", Integer.MAX_VALUE, Executors::newVirtualThreadPerTaskExecutor),
    /** The caller of the common pool may help: one more than its parallelism. */
    FORKJOIN("forkjoin", ForkJoinPool.getCommonPoolParallelism() + 1, ForkJoinPool::commonPool),
    /** As on the host of the published measurement; the JVM has to be started so, see {@link #jvmArgument}. */
    FORKJOIN_15("forkjoin-15", 16, ForkJoinPool::commonPool);

    final String label;
    /** Tasks that run at a time; the largest integer where nothing bounds them. */
    final int limit;

    private final Supplier<ExecutorService> executor;

    Workers(String label, int limit, Supplier<ExecutorService> executor) {
        this.label = label;
        this.limit = limit;
        this.executor = executor;
    }

    ExecutorService open() {
        if (this == FORKJOIN_15 && ForkJoinPool.getCommonPoolParallelism() != limit - 1) {
            throw new Refusal("forkjoin-15 needs the JVM argument " + jvmArgument());
        }
        return executor.get();
    }

    /** What the JVM needs for this executor; null when nothing. */
    String jvmArgument() {
        return this == FORKJOIN_15
                ? "-Djava.util.concurrent.ForkJoinPool.common.parallelism=" + (limit - 1)
                : null;
    }

    static Workers of(String label) {
        return Refusal.unlessOneOf("executor", values(), workers -> workers.label, label);
    }
}
