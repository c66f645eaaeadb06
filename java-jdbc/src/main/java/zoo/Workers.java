package zoo;

import java.util.Arrays;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;

/** The executors that are compared. */
enum Workers {
    CACHED("cached", Integer.MAX_VALUE) {
        @Override
        ExecutorService open() {
            return Executors.newCachedThreadPool();
        }
    },
    FIXED_10("fixed-10", 10) {
        @Override
        ExecutorService open() {
            return Executors.newFixedThreadPool(limit);
        }
    },
    FIXED_200("fixed-200", 200) {
        @Override
        ExecutorService open() {
            return Executors.newFixedThreadPool(limit);
        }
    },
    VIRTUAL("virtual", Integer.MAX_VALUE) {
        @Override
        ExecutorService open() {
            return Executors.newVirtualThreadPerTaskExecutor();
        }
    },
    /** {@link Batch} lets only as many of its tasks run at a time as the pool has connections. */
    VIRTUAL_SEMAPHORE("virtual-semaphore", Integer.MAX_VALUE) {
        @Override
        ExecutorService open() {
            return Executors.newVirtualThreadPerTaskExecutor();
        }
    },
    /** The caller of the common pool may help: one more than its parallelism. */
    FORKJOIN("forkjoin", ForkJoinPool.getCommonPoolParallelism() + 1) {
        @Override
        ExecutorService open() {
            return ForkJoinPool.commonPool();
        }
    },
    /** As on the host of the published measurement; the JVM has to be started so, see {@link #jvmArgument}. */
    FORKJOIN_15("forkjoin-15", 16) {
        @Override
        ExecutorService open() {
            if (ForkJoinPool.getCommonPoolParallelism() != limit - 1) {
                throw new Refusal("forkjoin-15 needs the JVM argument " + jvmArgument());
            }
            return ForkJoinPool.commonPool();
        }

        @Override
        String jvmArgument() {
            return "-Djava.util.concurrent.ForkJoinPool.common.parallelism=" + (limit - 1);
        }
    };

    final String label;
    /** Tasks that run at a time; the largest integer where nothing bounds them. */
    final int limit;

    Workers(String label, int limit) {
        this.label = label;
        this.limit = limit;
    }

    abstract ExecutorService open();

    /** What the JVM needs for this executor; null when nothing. */
    String jvmArgument() {
        return null;
    }

    static Workers of(String label) {
        return Arrays.stream(values())
                .filter(workers -> workers.label.equals(label))
                .findFirst()
                .orElseThrow(() -> Refusal.oneOf("executor", Arrays.stream(values()).map(w -> w.label), label));
    }
}
