package zoo;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.thread.Threading;
import org.springframework.boot.tomcat.autoconfigure.TomcatServerProperties;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;

/** What {@code /info} tells about this process. */
@Component
class Info {

    private final String variant;
    private final boolean virtual;
    private final TomcatServerProperties tomcat;
    private final Gate gate;

    Info(@Value("${spring.profiles.active}") String variant, Environment environment, TomcatServerProperties tomcat,
            Gate gate) {
        this.variant = variant;
        this.virtual = Threading.VIRTUAL.isActive(environment);
        this.tomcat = tomcat;
        this.gate = gate;
    }

    Map<String, Object> now() {
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
        Map<String, Object> info = new LinkedHashMap<>();
        info.put("server", "java-spring");
        info.put("variant", variant);
        info.put("model", virtual ? "virtual-thread" : "platform-thread");
        info.put("framework", "Spring Boot");
        info.put("framework_version", SpringBootVersion.getVersion());
        info.put("runtime", System.getProperty("java.vm.name"));
        info.put("runtime_version", Runtime.version().toString());
        info.put("pid", ProcessHandle.current().pid());
        info.put("processors", Runtime.getRuntime().availableProcessors());
        info.put("thread", Thread.currentThread().getName());
        info.put("virtual", Thread.currentThread().isVirtual());
        Long osThreads = procNumber("status", "Threads:");
        info.put("os_threads", osThreads != null ? osThreads : ManagementFactory.getThreadMXBean().getThreadCount());
        info.put("heap_used", heap.getUsed());
        info.put("heap_committed", heap.getCommitted());
        info.put("heap_max", heap.getMax());
        info.put("gc", collectors.stream().map(GarbageCollectorMXBean::getName).toList());
        info.put("gc_count", collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum());
        info.put("gc_time_ms", collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum());
        info.put("requests", gate.requests());
        info.put("limits", limits());
        return info;
    }

    private Map<String, Object> limits() {
        Map<String, Object> limits = new LinkedHashMap<>();
        limits.put("max_threads", virtual ? null : tomcat.getThreads().getMax());
        limits.put("max_connections", tomcat.getMaxConnections());
        limits.put("backlog", tomcat.getAcceptCount());
        limits.put("nofile", procNumber("limits", "Max open files"));
        return limits;
    }

    /** The first number behind a label in one of Linux's files about this process; null elsewhere. */
    private static Long procNumber(String file, String label) {
        try {
            return Files.readAllLines(Path.of("/proc/self", file)).stream()
                    .filter(line -> line.startsWith(label))
                    .map(line -> line.substring(label.length()).strip().split("\\s+")[0])
                    .filter(word -> word.matches("[0-9]+"))
                    .map(Long::valueOf)
                    .findFirst().orElse(null);
        } catch (IOException noSuchFile) {
            return null;
        }
    }
}
