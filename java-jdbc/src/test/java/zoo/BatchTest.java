package zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

class BatchTest {

    @ParameterizedTest
    @EnumSource(value = Workers.class, mode = Mode.EXCLUDE, names = "FORKJOIN_15")
    void resultsComeInTheOrderOfTheTasks(Workers workers) throws Exception {
        List<Callable<Integer>> tasks = IntStream.range(0, 500).<Callable<Integer>>mapToObj(i -> () -> i).toList();
        try (Batch batch = new Batch(workers, 10)) {
            assertEquals(IntStream.range(0, 500).boxed().toList(), batch.run(tasks));
        }
    }

    @ParameterizedTest
    @EnumSource(value = Workers.class, names = {"FIXED_10", "VIRTUAL_SEMAPHORE", "FORKJOIN"})
    void noMoreTasksRunAtATimeThanTheVariantSays(Workers workers) throws Exception {
        AtomicInteger running = new AtomicInteger();
        Callable<Integer> task = () -> {
            int now = running.incrementAndGet();
            Thread.sleep(5);
            running.decrementAndGet();
            return now;
        };
        double limit = Math.min(workers.limit, 10);
        try (Batch batch = new Batch(workers, 10)) {
            List<Integer> seen = batch.run(IntStream.range(0, 60).mapToObj(i -> task).toList());
            assertTrue(seen.stream().allMatch(now -> now <= limit), seen.toString());
        }
    }

    @Test
    void aTaskThatFailsFailsTheBatch() {
        try (Batch batch = new Batch(Workers.VIRTUAL, 10)) {
            Callable<Integer> task = () -> {
                throw new IllegalStateException("no");
            };
            assertThrows(ExecutionException.class, () -> batch.run(List.of(task)));
        }
    }

    @ParameterizedTest
    @EnumSource(value = Workers.class, names = {"FIXED_10", "VIRTUAL_SEMAPHORE"})
    void afterOneHasFailedTheRestIsNotBegun(Workers workers) {
        AtomicInteger begun = new AtomicInteger();
        Callable<Integer> task = () -> {
            begun.incrementAndGet();
            throw new IllegalStateException("no");
        };
        try (Batch batch = new Batch(workers, 10)) {
            List<Callable<Integer>> tasks = IntStream.range(0, 500).mapToObj(i -> task).toList();
            assertThrows(ExecutionException.class, () -> batch.run(tasks));
        }
        assertTrue(begun.get() <= 10, begun + " tasks");
    }

    @Test
    void forkjoin15IsRefusedInAJvmOfAnotherParallelism() {
        assumeTrue(ForkJoinPool.getCommonPoolParallelism() != 15);
        IllegalStateException refusal = assertThrows(IllegalStateException.class, Workers.FORKJOIN_15::open);
        assertTrue(refusal.getMessage().contains("common.parallelism=15"), refusal.getMessage());
    }

    @Test
    void anUnknownExecutorIsAnsweredWithTheKnownOnes() {
        IllegalArgumentException refusal = assertThrows(IllegalArgumentException.class, () -> Workers.of("green"));
        assertEquals(
                "executor must be one of cached, fixed-10, fixed-200, virtual, virtual-semaphore, forkjoin,"
                        + " forkjoin-15, got \"green\"",
                refusal.getMessage());
    }
}
