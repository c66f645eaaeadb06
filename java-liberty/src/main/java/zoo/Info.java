package zoo;

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.ObjectName;
import zoo.Settings.Variant;

/** What {@code /info} tells: who serves, on which thread, at what cost, within which limits. */
final class Info {

    /** Liberty makes its pool no smaller, whatever is configured. */
    private static final int SMALLEST_POOL = 4;

    private Info() {
    }

    static String json(Settings settings, long requests) throws JMException {
        Runtime runtime = Runtime.getRuntime();
        Thread thread = Thread.currentThread();
        long heapCommitted = runtime.totalMemory();
        List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
        return """
                {"server":"java-liberty","variant":"%s","model":"%s",\
                "framework":"Open Liberty","framework_version":"%s","runtime":"%s","runtime_version":"%s",\
                "pid":%d,"processors":%d,"thread":"%s","virtual":%b,"os_threads":%s,\
                "heap_used":%d,"heap_committed":%d,"heap_max":%d,"direct_used":%d,\
                "gc":[%s],"gc_count":%d,"gc_time_ms":%d,\
                "requests":%d,\
                "limits":{"max_threads":%s,"max_connections":%d,"backlog":%d,"nofile":%s}}""".formatted(
                settings.variant().label, settings.variant().model,
                libertyVersion(),
                System.getProperty("java.vm.name"), Runtime.version(),
                ProcessHandle.current().pid(), runtime.availableProcessors(), thread.getName(), thread.isVirtual(),
                osThreads(),
                heapCommitted - runtime.freeMemory(), heapCommitted, runtime.maxMemory(),
                directUsed(),
                collectors.stream().map(gc -> '"' + gc.getName() + '"').collect(Collectors.joining(",")),
                collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum(),
                collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum(),
                requests,
                poolBound(settings),
                Settings.MAX_CONNECTIONS, settings.backlog(), kernelFigure("limits", "Max open files", "null"));
    }

    private static Object libertyVersion() throws JMException {
        return ManagementFactory.getPlatformMBeanServer().getAttribute(
                new ObjectName("WebSphere:feature=kernel,name=ServerInfo"), "LibertyVersion");
    }

    /** "null" where the pool sizes itself or is not what takes the requests. */
    private static String poolBound(Settings settings) {
        if (settings.variant() == Variant.VIRTUAL || settings.maxThreads().isEmpty()) {
            return "null";
        }
        return Integer.toString(Math.max(settings.maxThreads().getAsInt(), SMALLEST_POOL));
    }

    /** Buffers outside the heap, also those that only wait for the garbage collector to give them back. */
    private static long directUsed() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed).sum();
    }

    private static String osThreads() {
        return kernelFigure("status", "Threads:",
                Integer.toString(ManagementFactory.getThreadMXBean().getThreadCount()));
    }

    /** The first number of the line that starts so, of a file in /proc/self. */
    private static String kernelFigure(String file, String start, String otherwise) {
        try {
            return Files.readAllLines(Path.of("/proc/self", file)).stream()
                    .filter(line -> line.startsWith(start))
                    .map(line -> line.substring(start.length()).strip().split("\\s+")[0])
                    .filter(figure -> figure.matches("[0-9]+"))
                    .findFirst().orElse(otherwise);
        } catch (IOException notLinux) {
            return otherwise;
        }
    }
}
