package zoo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Memory and CPU time of processes on Linux; NaN elsewhere. */
final class ProcFile {
    /** USER_HZ, the unit of /proc/PID/stat: 100 on every architecture that a JDK runs on. */
    private static final double TICKS_PER_SECOND = 100;

    private ProcFile() {}

    /** Makes the peak that of what follows; where that is not allowed, it is the peak since the JVM's start. */
    static void resetPeakMemory() {
        try {
            Files.writeString(Path.of("/proc/self/clear_refs"), "5");
        } catch (IOException e) {
            return;
        }
    }

    static double peakMemoryKb() {
        return read("self", "status").lines()
                .filter(line -> line.startsWith("VmHWM:"))
                .mapToDouble(line -> Double.parseDouble(line.replaceAll("[^0-9]", "")))
                .findFirst()
                .orElse(Double.NaN);
    }

    /**
     * CPU time of a server, its children (PostgreSQL has one for each connection) and those that have ended. A thousand
     * children may work for less than a tick each, so theirs is read in nanoseconds where the kernel keeps them.
     */
    static double cpuSeconds(long pid) {
        return tickedSeconds(pid)
                + ProcessHandle.of(pid).stream()
                        .flatMap(ProcessHandle::children)
                        .mapToDouble(child -> runSeconds(child.pid()))
                        .filter(Double::isFinite) // others have just ended
                        .sum();
    }

    /** CPU time of a process with one thread. */
    private static double runSeconds(long pid) {
        String account = read(Long.toString(pid), "schedstat");
        return account.isEmpty() ? tickedSeconds(pid) : Long.parseLong(account.split(" ")[0]) / 1e9;
    }

    /** User and system time of a process and of its children that have ended. */
    private static double tickedSeconds(long pid) {
        String stat = read(Long.toString(pid), "stat");
        // the program's name may contain spaces and brackets
        String[] words = stat.substring(stat.lastIndexOf(')') + 1).split(" ");
        return stat.isEmpty()
                ? Double.NaN
                : Arrays.stream(words, 12, 16).mapToLong(Long::parseLong).sum() / TICKS_PER_SECOND;
    }

    /** Returns a file's text; nothing where there is no such process or no /proc. */
    private static String read(String pid, String file) {
        try {
            return Files.readString(Path.of("/proc", pid, file));
        } catch (IOException e) {
            return "";
        }
    }
}
