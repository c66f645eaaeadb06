package zoo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** What Linux tells of processes; empty where it does not. */
final class ProcFile {
    /** USER_HZ, the unit of /proc/PID/stat: 100 on every architecture that a JDK runs on. */
    private static final double TICKS_PER_SECOND = 100;

    private static final int UTIME = 11;
    private static final int CHILDREN_STIME = 14;

    private ProcFile() {}

    /** From here on the peak is that of what follows. */
    static void resetPeakMemory() {
        try {
            Files.writeString(Path.of("/proc/self/clear_refs"), "5");
        } catch (IOException e) {
            // where it is refused the peak is the one since the JVM's start: no less true, only wider
            return;
        }
    }

    static OptionalLong peakMemoryKb() {
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith("VmHWM:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
                    .findFirst();
        } catch (IOException e) {
            return OptionalLong.empty();
        }
    }

    /**
     * CPU time of a server, its children (PostgreSQL has one for each connection) and those that have ended. The children are
     * read in nanoseconds: a thousand of them may work for less than a tick each.
     */
    static OptionalDouble cpuSeconds(long pid) {
        OptionalLong own = ticks(pid);
        if (own.isEmpty()) {
            return OptionalDouble.empty();
        }
        double children = ProcessHandle.of(pid).stream()
                .flatMap(ProcessHandle::children)
                .mapToDouble(child -> runSeconds(child.pid()))
                .sum();
        return OptionalDouble.of(own.getAsLong() / TICKS_PER_SECOND + children);
    }

    /** CPU time of a process with one thread; in ticks where the kernel keeps no finer account. */
    private static double runSeconds(long pid) {
        try {
            String account = Files.readString(Path.of("/proc", Long.toString(pid), "schedstat"));
            return Long.parseLong(account.substring(0, account.indexOf(' '))) / 1e9;
        } catch (IOException e) {
            return ticks(pid).orElse(0) / TICKS_PER_SECOND;
        }
    }

    private static OptionalLong ticks(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            // the name of the program may contain blanks and brackets
            String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            long sum = 0;
            for (int i = UTIME; i <= CHILDREN_STIME; i++) {
                sum += Long.parseLong(words[i]);
            }
            return OptionalLong.of(sum);
        } catch (IOException e) {
            return OptionalLong.empty();
        }
    }
}
