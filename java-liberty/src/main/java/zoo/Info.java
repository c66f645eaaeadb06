package zoo;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.File;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.stream.Collectors;

/** What {@code /info} tells of this process. The same text stands in every Java server. */
record Info(String server, String variant, String model, String framework, String version,
        String transport, Integer maxThreads, int maxConnections, int backlog) {

    /** As the thread that handles the request sees it; {@code maxThreads} is null where no pool takes requests. */
    String json(long requests) {
        Thread thread = Thread.currentThread();
        Runtime jvm = Runtime.getRuntime();
        long committed = jvm.totalMemory();
        var collectors = ManagementFactory.getGarbageCollectorMXBeans();
        return String.format(Locale.ROOT, """
                {"server":"%s","variant":"%s","model":"%s","framework":"%s","framework_version":"%s",\
                "runtime":"%s","runtime_version":"%s","transport":"%s","pid":%d,"processors":%d,\
                "thread":"%s","virtual":%b,"os_threads":%d,"heap_used":%d,"heap_committed":%d,"heap_max":%d,\
                "direct_used":%d,"gc":[%s],"gc_count":%d,"gc_time_ms":%d,"requests":%d,\
                "limits":{"max_threads":%d,"max_connections":%d,"backlog":%d,"nofile":%d}}""",
                server, variant, model, framework, version,
                System.getProperty("java.vm.name"), Runtime.version(), transport, ProcessHandle.current().pid(),
                jvm.availableProcessors(), thread.getName(), thread.isVirtual(), osThreads(),
                committed - jvm.freeMemory(), committed, jvm.maxMemory(), directMemory(),
                collectors.stream().map(gc -> '"' + gc.getName() + '"').collect(Collectors.joining(",")),
                collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum(),
                collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum(),
                requests, maxThreads, maxConnections, backlog,
                ManagementFactory.getPlatformMXBean(UnixOperatingSystemMXBean.class).getMaxFileDescriptorCount());
    }

    /** All threads that the kernel knows, the JVM's own among them; where there is no /proc, those of Java. */
    private static int osThreads() {
        String[] tasks = new File("/proc/self/task").list();
        return tasks != null ? tasks.length : ManagementFactory.getThreadMXBean().getThreadCount();
    }

    /** Buffers outside the heap, also those that only wait for the garbage collector to give them back. */
    private static long directMemory() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct")).mapToLong(BufferPoolMXBean::getMemoryUsed).sum();
    }
}
