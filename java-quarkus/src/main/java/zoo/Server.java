package zoo;

import io.netty.handler.codec.DateFormatter;
import io.quarkus.resteasy.reactive.server.EndpointDisabled;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.StartupEvent;
import io.quarkus.runtime.annotations.QuarkusMain;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.smallrye.common.annotation.Blocking;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.infrastructure.Infrastructure;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import jakarta.enterprise.event.Observes;
import jakarta.ws.rs.*;
import jakarta.ws.rs.core.Response;
import java.time.Duration;
import java.util.Date;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jboss.resteasy.reactive.RestQuery;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;
import zoo.shared.Info;
import zoo.shared.Settings;
import zoo.shared.Work;

/** Quarkus with three thread models, each a class of paths, of which the variant enables one. */
@QuarkusMain
public class Server implements QuarkusApplication {

    private static final Settings SETTINGS = Settings.read(8109, 200, "eventloop", "platform", "virtual");
    private static final LongAdder REQUESTS = new LongAdder();

    public static void main(String[] args) {
        System.setProperty("zoo." + SETTINGS.variant(), "on");  // without it, a class of paths is disabled
        Quarkus.run(Server.class, args);
    }

    @Override
    public int run(String... args) {
        System.out.printf("listening on http://%s (java-quarkus:%s)%n", SETTINGS.authority(), SETTINGS.variant());
        Quarkus.waitForExit();
        return 0;
    }

    /** Plain blocking code on Quarkus's pool of platform threads. */
    @Path("/")
    @Produces(Work.TEXT)
    @Blocking
    @EndpointDisabled(name = "zoo.platform", stringValue = "", disableIfMissing = true)
    public static class OnPlatformThreads {

        @GET
        public String hello() {
            return Work.HELLO;
        }

        @GET @Path("sleep")
        public String sleep(@RestQuery @DefaultValue("10000") String ms, @RestQuery @DefaultValue("0") String lock)
                throws InterruptedException {
            Work.sleep(Settings.integer("ms", ms, 0, 60_000), Settings.integer("lock", lock, 0, 1) == 1);
            return Work.HELLO;
        }

        @GET @Path("cpu")
        public String cpu(@RestQuery @DefaultValue("") String rounds, @RestQuery @DefaultValue("0") String ms)
                throws InterruptedException {
            int number = Settings.integer("rounds", rounds, 0, 10_000_000);
            Work.sleep(Settings.integer("ms", ms, 0, 60_000), false);
            return Work.sha256(number);
        }

        @GET @Path("info") @Produces("application/json")
        public String info() {
            return Server.info();
        }
    }

    /** The same code on a new virtual thread for each request. The annotation has no effect on inherited methods. */
    @Path("/")
    @Produces(Work.TEXT)
    @RunOnVirtualThread
    @EndpointDisabled(name = "zoo.virtual", stringValue = "", disableIfMissing = true)
    public static class OnVirtualThreads extends OnPlatformThreads {

        @GET
        public String hello() {
            return super.hello();
        }

        @GET @Path("sleep")
        public String sleep(@RestQuery @DefaultValue("10000") String ms, @RestQuery @DefaultValue("0") String lock)
                throws InterruptedException {
            return super.sleep(ms, lock);
        }

        @GET @Path("cpu")
        public String cpu(@RestQuery @DefaultValue("") String rounds, @RestQuery @DefaultValue("0") String ms)
                throws InterruptedException {
            return super.cpu(rounds, ms);
        }

        @GET @Path("info") @Produces("application/json")
        public String info() {
            return super.info();
        }
    }

    /** All paths on an event loop, on which a method that returns a Uni or a Multi runs. None of them blocks. */
    @Path("/")
    @Produces(Work.TEXT)
    @EndpointDisabled(name = "zoo.eventloop", stringValue = "", disableIfMissing = true)
    public static class OnEventLoops {

        @GET
        public Uni<String> hello() {
            return Uni.createFrom().item(Work.HELLO);
        }

        /** A timer instead of a thread that sleeps; the lock needs a thread and is ignored. */
        @GET @Path("sleep")
        public Uni<String> sleep(@RestQuery @DefaultValue("10000") String ms, @RestQuery @DefaultValue("0") String lock) {
            Settings.integer("lock", lock, 0, 1);
            return after(Settings.integer("ms", ms, 0, 60_000)).replaceWith(Work.HELLO);
        }

        /** Hands the work to the pool of workers, as it is too long for an event loop. */
        @GET @Path("cpu")
        public Uni<String> cpu(@RestQuery @DefaultValue("") String rounds, @RestQuery @DefaultValue("0") String ms) {
            int number = Settings.integer("rounds", rounds, 0, 10_000_000);
            return after(Settings.integer("ms", ms, 0, 60_000)).emitOn(Infrastructure.getDefaultWorkerPool())
                    .map(waited -> Work.sha256(number));
        }

        @GET @Path("info") @Produces("application/json")
        public Uni<String> info() {
            return Uni.createFrom().item(Server.info());
        }

        private static Uni<Void> after(int ms) {
            Uni<Void> now = Uni.createFrom().voidItem();
            return ms == 0 ? now : now.onItem().delayIt().by(Duration.ofMillis(ms));
        }
    }

    /** Sends pieces as fast as the client reads them, in all variants: a StreamingOutput buffers all (issue 50317). */
    @Path("bytes")
    public static class Bytes {

        private static final Buffer ALPHABETS = Buffer.buffer(Work.ALPHABETS);

        @GET @Produces("application/octet-stream")
        public Multi<Buffer> bytes(@RestQuery @DefaultValue("") String n) {
            int size = Settings.integer("n", n, 0, 16_777_216);
            int piece = ALPHABETS.length();
            return Multi.createFrom().range(0, Math.ceilDiv(size, piece))
                    .map(i -> ALPHABETS.slice(0, Math.min(piece, size - i * piece)));
        }
    }

    /** What Quarkus leaves to an application. */
    static class Common {

        private CharSequence date;

        void start(@Observes StartupEvent event, Vertx vertx) {
            vertx.setPeriodic(0, 1_000, second -> date = HttpHeaders.createOptimized(DateFormatter.format(new Date())));
        }

        void each(@Observes Filters filters) {
            filters.register(request -> {
                REQUESTS.increment();
                request.response().putHeader(HttpHeaders.DATE, date);
                List<String> codings = request.request().headers().getAll(HttpHeaders.TRANSFER_ENCODING);
                if (request.request().version() == null) {  // neither HTTP/1.0 nor 1.1
                    request.request().connection().close();
                } else if (codings.isEmpty() || String.join(",", codings).equalsIgnoreCase("chunked")) {
                    request.next();
                } else {  // Netty accepts further codings before this one, which nothing decodes
                    request.response().setStatusCode(400).putHeader(HttpHeaders.CONNECTION, "close").end();
                    request.request().connection().close();
                }
            }, 100);
        }

        @ServerExceptionMapper
        Response badNumber(IllegalArgumentException bad) {
            return Response.status(400).type(Work.TEXT).entity(bad.getMessage()).build();
        }

        @ServerExceptionMapper
        Response wrongMethod(NotAllowedException wrong) {
            return Response.status(405).header("Allow", "GET, HEAD").build();  // which Quarkus leaves out
        }
    }

    private static String info() {
        String variant = SETTINGS.variant();
        return new Info("java-quarkus", variant, variant.equals("eventloop") ? "event-loop" : variant + "-thread",
                "Quarkus REST", Quarkus.class.getPackage().getImplementationVersion(), "nio",
                variant.equals("platform") ? SETTINGS.maxThreads() : null, Integer.MAX_VALUE, SETTINGS.backlog())
                .json(REQUESTS.sum());
    }
}
