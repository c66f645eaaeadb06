package zoo;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.mutiny.core.Vertx;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;

/** Starts the server that the environment asks for, and stops it without cutting a request. */
final class Main {

    /** All that makes a variant: who handles the requests of an event loop; null is the event loop itself. */
    private static UnaryOperator<Executor> executors(Settings settings, String scheduler) {
        return switch (settings.variant()) {
            case "eventloop" -> eventLoop -> null;
            case "platform" -> {
                Executor pool = Executors.newFixedThreadPool(settings.maxThreads().orElse(200),
                        Thread.ofPlatform().name("worker-", 0).factory());
                yield eventLoop -> pool;
            }
            default -> eventLoop -> Executors.newThreadPerTaskExecutor(
                    virtual(scheduler, eventLoop).name("request").factory());
        };
    }

    /** Virtual threads on the JDK's scheduler or, experimental and by a class inside the JDK, on the event loop. */
    private static Thread.Builder.OfVirtual virtual(String scheduler, Executor eventLoop) {
        if (!scheduler.equals("loop")) {
            return Thread.ofVirtual();
        }
        try {
            var builder = Class.forName("java.lang.ThreadBuilders$VirtualThreadBuilder")
                    .getDeclaredConstructor(Executor.class);
            builder.setAccessible(true);
            return (Thread.Builder.OfVirtual) builder.newInstance(eventLoop);
        } catch (ReflectiveOperationException | RuntimeException hidden) {
            throw new IllegalArgumentException("SCHEDULER=loop is not to be had from JDK " + Runtime.version());
        }
    }

    public static void main(String[] args) {
        try {
            Settings settings = Settings.from(System.getenv(), 8102, "eventloop", "platform", "virtual");
            String scheduler = Settings.choice(System.getenv(), "SCHEDULER", "shared", "one", "loop");
            if (scheduler.equals("one")) {  // the JDK reads this when its first virtual thread starts
                System.setProperty("jdk.virtualThreadScheduler.parallelism", "1");
                System.setProperty("jdk.virtualThreadScheduler.maxPoolSize", "1");
            }
            virtual(scheduler, Runnable::run);  // ends the start where this JDK has no such thing
            start(settings, executors(settings, scheduler));
        } catch (IllegalArgumentException bad) {
            fail(2, bad.getMessage());
        }
    }

    private static void start(Settings settings, UnaryOperator<Executor> executors) {
        System.setProperty("io.netty.bootstrap.extensions", "serviceload");  // finds Sockets
        System.setProperty("vertx.disableWebsockets", "true");  // with them, Vert.x answers FTP/1.1 as FTP/1.1
        int processors = Runtime.getRuntime().availableProcessors();
        Vertx vertx = Vertx.vertx(new VertxOptions()
                .setPreferNativeTransport(true)
                .setEventLoopPoolSize(processors)
                .setMaxEventLoopExecuteTime(10_000_000_000L)  // ns; then the watchdog warns
                .setFileSystemOptions(new FileSystemOptions()  // no cache folder: nothing is served from files
                        .setClassPathResolvingEnabled(false).setFileCachingEnabled(false)));
        try {
            vertx.deployVerticleAndAwait(() -> new HttpVerticle(settings, executors),
                    new DeploymentOptions().setInstances(processors));
        } catch (CompletionException cannotListen) {
            String reason = cannotListen.getCause().getMessage();
            fail(1, "cannot listen on %s: %s".formatted(settings.authority(),
                    reason.substring(reason.lastIndexOf(": ") + 1).strip().toLowerCase(Locale.ROOT)));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(Main::stop));
        System.out.printf("listening on http://%s (java-vertx:%s)%n", settings.authority(), settings.variant());
    }

    /** Stops listening, waits at most 10 s for the requests in flight, and ends with exit code 0. */
    private static void stop() {
        Sockets.stopListening();
        HttpVerticle.stopping = true;
        long deadline = System.nanoTime() + 10_000_000_000L;
        do {
            LockSupport.parkNanos(20_000_000);
        } while (HttpVerticle.IN_FLIGHT.get() > 0 && System.nanoTime() < deadline);
        Runtime.getRuntime().halt(0);
    }

    private static void fail(int exitCode, String line) {
        System.err.println(line);
        System.exit(exitCode);
    }
}
