package zoo;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.ThreadingModel;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.mutiny.core.Vertx;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import zoo.shared.Settings;

/** Starts Vert.x with one of four thread models, and drains it on SIGTERM. */
final class Main {

    /** Returns which executor handles the requests of an event loop: null is the verticle's own thread. */
    private static UnaryOperator<Executor> executors(Settings settings, boolean onLoop) {
        return switch (settings.variant()) {
            case "eventloop", "verticle" -> eventLoop -> null;
            case "platform" -> {
                Executor pool = Executors.newFixedThreadPool(settings.maxThreads(),
                        Thread.ofPlatform().name("worker-", 0).factory());
                yield eventLoop -> pool;
            }
            default -> eventLoop -> Executors.newThreadPerTaskExecutor(
                    (onLoop ? virtualOn(eventLoop) : Thread.ofVirtual()).name("request").factory());
        };
    }

    /** Builds virtual threads that the event loop carries: an experiment with a class that the JDK keeps to itself. */
    private static Thread.Builder.OfVirtual virtualOn(Executor eventLoop) {
        try {
            var builder = Class.forName("java.lang.ThreadBuilders$VirtualThreadBuilder")
                    .getDeclaredConstructor(Executor.class);
            builder.setAccessible(true);
            return (Thread.Builder.OfVirtual) builder.newInstance(eventLoop);
        } catch (ReflectiveOperationException missing) {
            throw new UnsupportedOperationException("SCHEDULER=loop does not work on this JDK", missing);
        }
    }

    public static void main(String[] args) {
        System.setProperty("io.netty.bootstrap.extensions", "serviceload");  // finds ListeningSocket
        System.setProperty("vertx.disableWebsockets", "true");  // with them, Vert.x answers FTP/1.1 as FTP/1.1
        Settings settings = Settings.read(8102, 200, "eventloop", "platform", "virtual", "verticle");
        var executors = executors(settings, Settings.choice("SCHEDULER", "shared", "loop").equals("loop"));
        int processors = Runtime.getRuntime().availableProcessors();
        Vertx vertx = Vertx.vertx(new VertxOptions()
                .setPreferNativeTransport(true)
                .setEventLoopPoolSize(processors)
                .setMaxEventLoopExecuteTime(10_000_000_000L)  // ns; then the watchdog warns
                .setFileSystemOptions(new FileSystemOptions().setFileCachingEnabled(false)));  // no cache folder
        try {
            vertx.deployVerticleAndAwait(() -> new HttpVerticle(settings, executors),
                    new DeploymentOptions().setInstances(processors).setThreadingModel(
                            settings.variant().equals("verticle") ? ThreadingModel.VIRTUAL_THREAD
                                    : ThreadingModel.EVENT_LOOP));
        } catch (CompletionException failed) {
            throw Settings.exit(settings.authority() + ": " + failed.getCause().getMessage());
        }
        Runtime.getRuntime().addShutdownHook(new Thread(Main::drain));
        System.out.printf("listening on http://%s (java-vertx:%s)%n", settings.authority(), settings.variant());
    }

    /** Stops listening, and lets the JVM exit when no request is in flight, or after 10 s. */
    private static void drain() {
        ListeningSocket.close();
        int look = 0;
        do {
            LockSupport.parkNanos(20_000_000);
        } while (HttpVerticle.IN_FLIGHT.get() > 0 && ++look < 500);
    }
}
