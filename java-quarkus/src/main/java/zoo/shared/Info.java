package zoo.shared;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/** The response to {@code /info}; maxThreads is null without a pool. Every Java server contains the same text. */
public record Info(String server, String variant, String model, String framework, String version, String transport,
        Integer maxThreads, int maxConnections, int backlog) {

    /** Returns them as JSON, as seen by the thread that handles the request. %s writes the same digits everywhere. */
    public String json(long requests) {
        var heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        var collectors = ManagementFactory.getGarbageCollectorMXBeans();
        return """
                {"server":"%s","variant":"%s","model":"%s","framework":"%s","framework_version":"%s",\
                "runtime":"%s","runtime_version":"%s","transport":"%s","pid":%s,"thread":"%s","virtual":%s,\
                "heap_used":%s,"heap_committed":%s,"heap_max":%s,"direct_used":%s,\
                "gc":%s,"gc_count":%s,"gc_time_ms":%s,"requests":%s,\
                "limits":{"max_threads":%s,"max_connections":%s,"backlog":%s}}""".formatted(
                server, variant, model, framework, version, System.getProperty("java.vm.name"), Runtime.version(),
                transport, ProcessHandle.current().pid(), Thread.currentThread().getName(),
                Thread.currentThread().isVirtual(), heap.getUsed(), heap.getCommitted(), heap.getMax(),
                ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                        .filter(pool -> pool.getName().equals("direct"))
                        .mapToLong(BufferPoolMXBean::getMemoryUsed).sum(),
                collectors.stream().map(gc -> '"' + gc.getName() + '"').toList(),
                collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum(),
                collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum(),
                requests, maxThreads, maxConnections, backlog);
    }
}
