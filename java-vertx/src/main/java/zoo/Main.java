package zoo;

import io.netty.channel.SingleThreadEventLoop;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.impl.VertxInternal;
import io.vertx.mutiny.core.Vertx;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** Starts the server that the environment asks for, and stops it without cutting a request. */
final class Main {

    private Main() {
    }

    public static void main(String[] args) {
        // no WebSockets here: Vert.x spares each connection two handlers, and leaves unknown HTTP versions to us
        System.setProperty("vertx.disableWebsockets", "true");
        try {
            start(Settings.of(System.getenv()));
        } catch (IllegalArgumentException badSetting) {
            fail(2, badSetting.getMessage());
        }
    }

    private static void start(Settings settings) {
        int processors = Runtime.getRuntime().availableProcessors();
        Vertx vertx = Vertx.vertx(new VertxOptions()
                .setPreferNativeTransport(true)
                .setEventLoopPoolSize(processors)
                .setWorkerPoolSize(processors)
                .setMaxEventLoopExecuteTime(10).setMaxEventLoopExecuteTimeUnit(TimeUnit.SECONDS)  // then it warns
                .setFileSystemOptions(new FileSystemOptions()  // no cache folder: nothing is served from files
                        .setClassPathResolvingEnabled(false).setFileCachingEnabled(false)));
        ThreadModel model = ThreadModel.of(settings, vertx);
        Traffic traffic = new Traffic();
        try {
            vertx.deployVerticleAndAwait(() -> new HttpVerticle(settings, model, traffic),
                    new DeploymentOptions().setInstances(processors));
        } catch (CompletionException cannotListen) {
            String reason = cannotListen.getCause().getMessage();
            fail(1, "cannot listen on %s:%d: %s".formatted(settings.host(), settings.port(),
                    reason.substring(reason.lastIndexOf(": ") + 1).strip().toLowerCase(Locale.ROOT)));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(vertx, traffic), "stop"));
        System.out.println("listening on http://%s:%d (java-vertx:%s)".formatted(
                settings.host(), settings.port(), settings.variant().label));
        System.out.flush();
    }

    /** Closes the listening socket, waits for the requests in flight for at most 10 s, and ends with exit code 0. */
    private static void stop(Vertx vertx, Traffic traffic) {
        traffic.stop();
        // HttpServer.close() of Vert.x 4 cuts connections too; the acceptor's loop has only the listening socket
        SingleThreadEventLoop acceptor = (SingleThreadEventLoop)
                ((VertxInternal) vertx.getDelegate()).getAcceptorEventLoopGroup().next();
        acceptor.execute(() -> acceptor.registeredChannelsIterator().next().close());
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        try {
            do {
                Thread.sleep(20);
            } while (traffic.inFlight() && System.nanoTime() < deadline);
        } catch (InterruptedException hurry) {
            // nothing is left to wait for
        }
        Runtime.getRuntime().halt(0);
    }

    private static void fail(int exitCode, String line) {
        System.err.println(line);
        System.exit(exitCode);
    }
}
