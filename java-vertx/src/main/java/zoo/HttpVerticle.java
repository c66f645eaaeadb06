package zoo;

import static io.vertx.core.http.HttpHeaders.*;

import io.netty.handler.codec.DateFormatter;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.unchecked.Unchecked;
import io.smallrye.mutiny.vertx.MutinyHelper;
import io.smallrye.mutiny.vertx.core.AbstractVerticle;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.mutiny.core.buffer.Buffer;
import io.vertx.mutiny.core.http.HttpServerRequest;
import java.util.Collections;
import java.util.Date;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.UnaryOperator;
import zoo.shared.Info;
import zoo.shared.Settings;
import zoo.shared.Work;

/** All paths, on one event loop; there is one of these for each loop. */
final class HttpVerticle extends AbstractVerticle {

    private static final Buffer ALPHABETS = Buffer.buffer(Work.ALPHABETS);
    private static final Reply HELLO = Reply.of(200, createOptimized(Work.TEXT), Work.HELLO);
    private static final LongAdder REQUESTS = new LongAdder();
    static final AtomicInteger IN_FLIGHT = new AtomicInteger();

    private final Settings settings;
    private final UnaryOperator<Executor> executors;
    private final Set<HttpConnection> refused = Collections.newSetFromMap(new WeakHashMap<>());
    private Executor eventLoop;
    private Executor executor;
    private CharSequence date;

    HttpVerticle(Settings settings, UnaryOperator<Executor> executors) {
        this.settings = settings;
        this.executors = executors;
    }

    @Override
    public Uni<Void> asyncStart() {
        eventLoop = MutinyHelper.executor(context);
        executor = executors.apply(eventLoop);
        vertx.setPeriodic(0, 1_000, second -> date = createOptimized(DateFormatter.format(new Date())));
        return vertx.createHttpServer(new HttpServerOptions()
                        .setAcceptBacklog(settings.backlog())
                        .setIdleTimeout(120)  // seconds, as in the other servers
                        .setMaxInitialLineLength(8_192)
                        .setHttp2ClearTextEnabled(false))
                .requestHandler(this::handle)
                .listen(settings.port(), settings.address().getHostAddress())
                .replaceWithVoid();
    }

    private void handle(HttpServerRequest request) {
        REQUESTS.increment();
        if (request.version() == null || refused.contains(request.getDelegate().connection())) {
            request.connection().closeAndForget();
        } else if (request.headers().contains(TRANSFER_ENCODING) && !isChunked(request)) {
            refused.add(request.getDelegate().connection());  // the next request may come before it is closed
            request.response().setStatusCode(400).putHeader(CONNECTION, CLOSE).endAndForget("unknown coding");
            request.connection().closeAndForget();
        } else if (request.method() != HttpMethod.GET && request.method() != HttpMethod.HEAD) {
            request.response().setStatusCode(405).putHeader(ALLOW, "GET, HEAD").endAndForget("method not allowed");
        } else {
            IN_FLIGHT.incrementAndGet();
            Uni<Reply> reply = Uni.createFrom().deferred(Unchecked.supplier(() -> reply(request)));
            (executor == null ? reply : reply.runSubscriptionOn(executor).emitOn(eventLoop))
                    .onFailure().recoverWithItem(HttpVerticle::failed)
                    .chain(ready -> send(request, ready))
                    .onTermination().invoke(IN_FLIGHT::decrementAndGet)
                    .subscribe().with(sent -> { }, notSent -> request.connection().closeAndForget());
        }
    }

    private Uni<Reply> reply(HttpServerRequest request) throws InterruptedException {
        return switch (request.path()) {
            case "/" -> Uni.createFrom().item(HELLO);
            case "/sleep" -> sleep(integer(request, "ms", 60_000, "10000"), integer(request, "lock", 1, "0") == 1)
                    .replaceWith(HELLO);
            case "/bytes" -> {
                int n = integer(request, "n", 16_777_216, "");
                yield Uni.createFrom().item(new Reply(200, "application/octet-stream",
                        n < ALPHABETS.length() ? ALPHABETS.slice(0, n) : ALPHABETS, n));
            }
            case "/cpu" -> {
                int rounds = integer(request, "rounds", 10_000_000, "");
                Uni<String> digest = executor != null ? Uni.createFrom().item(() -> Work.sha256(rounds))
                        : vertx.executeBlocking(() -> Work.sha256(rounds), false);  // too long for an event loop
                yield sleep(integer(request, "ms", 60_000, "0"), false).chain(() -> digest)
                        .map(digits -> Reply.of(200, Work.TEXT, digits));
            }
            case "/info" -> Uni.createFrom().item(Reply.of(200, "application/json", info().json(REQUESTS.sum())));
            default -> Uni.createFrom().item(Reply.of(404, Work.TEXT, "not found"));
        };
    }

    /** Sleeps on the request's own thread. On an event loop and in a verticle, a timer replaces this. */
    private Uni<Void> sleep(int ms, boolean lock) throws InterruptedException {
        if (executor != null) {
            Work.sleep(ms, lock);
        } else if (ms > 0 && context.isEventLoopContext()) {
            return Uni.createFrom().emitter(waiting -> vertx.setTimer(ms, timer -> waiting.complete(null)));
        } else if (ms > 0) {
            Future.await(vertx.getDelegate().timer(ms));  // lets the verticle's other requests run meanwhile
        }
        return Uni.createFrom().voidItem();
    }

    private Info info() {
        String variant = settings.variant();
        boolean pool = variant.equals("platform");
        String model = pool ? "platform-thread" : variant.equals("eventloop") ? "event-loop" : "virtual-thread";
        return new Info("java-vertx", variant, model, "Eclipse Vert.x",
                Vertx.class.getPackage().getImplementationVersion(),
                vertx.isNativeTransportEnabled() ? "epoll" : "nio", pool ? settings.maxThreads() : null,
                Integer.MAX_VALUE, settings.backlog());
    }

    private static int integer(HttpServerRequest request, String name, int max, String otherwise) {
        return Settings.integer(name, request.getParam(name, otherwise), 0, max);
    }

    /** Netty accepts further codings before this one, which nothing here decodes. */
    private static boolean isChunked(HttpServerRequest request) {
        return String.join(",", request.headers().getAll(TRANSFER_ENCODING)).equalsIgnoreCase("chunked");
    }

    private static Reply failed(Throwable failure) {
        return Reply.of(failure instanceof IllegalArgumentException ? 400 : 500, Work.TEXT, failure.getMessage());
    }

    private Uni<Void> send(HttpServerRequest request, Reply reply) {
        int chunk = reply.text.length();
        var response = request.response().setStatusCode(reply.status)
                .putHeader(CONTENT_TYPE, reply.type)
                .putHeader(CONTENT_LENGTH, Integer.toString(reply.length))
                .putHeader(DATE, date);
        if (reply.length != chunk && Thread.currentThread().isVirtual()) {
            for (int at = 0; at < reply.length; at += chunk) {  // as the client reads
                Future.await(response.getDelegate().write(
                        reply.text.slice(0, Math.min(chunk, reply.length - at)).getDelegate()));
            }
            return response.end();
        }
        return reply.length == chunk ? response.end(reply.text)
                : response.send(Multi.createFrom().range(0, Math.ceilDiv(reply.length, chunk))  // as the client reads
                        .map(i -> reply.text.slice(0, Math.min(chunk, reply.length - i * chunk))));
    }

    /** The body is the text, repeated and cut off at the length. */
    private record Reply(int status, CharSequence type, Buffer text, int length) {

        static Reply of(int status, CharSequence type, String text) {
            Buffer body = Buffer.buffer(String.valueOf(text));
            return new Reply(status, type, body, body.length());
        }
    }
}
