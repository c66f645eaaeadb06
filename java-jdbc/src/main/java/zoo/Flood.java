package zoo;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;

/** Runs all tasks at once, one time, in a JVM that the harness watches and ends at a memory limit. */
final class Flood {
    private Flood() {}

    /**
     * Halts the JVM: the threads of a half-made pool would keep it alive, and closing a pool wakes all its threads,
     * whose stacks would count as memory.
     */
    public static void main(String[] args) {
        int code = 1;
        try {
            flood(Workers.of(args[0]), Integer.parseInt(args[1]), Integer.parseInt(args[2]), Long.parseLong(args[3]));
            code = 0;
        } catch (Throwable e) {
            System.err.println(e);
        }
        Runtime.getRuntime().halt(code);
    }

    private static void flood(Workers workers, int tasks, int size, long patienceSeconds) throws Exception {
        Countries countries =
                new Countries(Pool.open(Database.passed("url"), size, Duration.ofSeconds(patienceSeconds)));
        Batch batch = new Batch(workers, size);
        Callable<Optional<Countries.Country>> task = () -> countries.findByCode("AD");
        batch.run(Collections.nCopies(100, task));
        long start = System.nanoTime();
        List<Optional<Countries.Country>> found = batch.run(Collections.nCopies(tasks, task));
        double seconds = (System.nanoTime() - start) / 1e9;
        if (!found.stream().allMatch(Optional::isPresent)) {
            throw new IllegalStateException("the country AD was not found each time");
        }
        System.out.printf(Locale.ROOT, "%d tasks in %.2f s%n", tasks, seconds);
    }
}
