package zoo;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;

/** All tasks at once, one time, in a JVM that the harness watches and ends at a memory limit. */
final class Flood {
    private static final int WARM_UP = 100;

    private Flood() {}

    /**
     * Halts: the threads of a pool that got stuck in its making would keep the JVM alive, and the closing of one wakes
     * all its threads, whose stacks would count as memory of the work.
     */
    public static void main(String[] args) {
        int code = 1;
        try {
            flood(Workers.of(args[0]), Integer.parseInt(args[1]), Integer.parseInt(args[2]),
                    Duration.ofSeconds(Integer.parseInt(args[3])));
            code = 0;
        } catch (Throwable e) {
            System.err.println(e);
        }
        Runtime.getRuntime().halt(code);
    }

    private static void flood(Workers workers, int tasks, int size, Duration patience) throws Exception {
        Countries countries = new Countries(Pool.open(Database.passed().url(), size, patience));
        Batch batch = new Batch(workers, size);
        Callable<Optional<Country>> task = () -> countries.findByCode("AD");
        batch.run(Collections.nCopies(WARM_UP, task));
        long start = System.nanoTime();
        List<Optional<Country>> found = batch.run(Collections.nCopies(tasks, task));
        double seconds = (System.nanoTime() - start) / 1e9;
        if (!found.stream().allMatch(Optional::isPresent)) {
            throw new IllegalStateException("the country AD was not found each time");
        }
        System.out.printf(Locale.ROOT, "%d tasks in %.2f s%n", tasks, seconds);
    }
}
