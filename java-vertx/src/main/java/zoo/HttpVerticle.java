package zoo;

import static io.vertx.core.http.HttpHeaders.ALLOW;
import static io.vertx.core.http.HttpHeaders.CLOSE;
import static io.vertx.core.http.HttpHeaders.CONNECTION;
import static io.vertx.core.http.HttpHeaders.CONTENT_LENGTH;
import static io.vertx.core.http.HttpHeaders.CONTENT_TYPE;
import static io.vertx.core.http.HttpHeaders.DATE;

import io.netty.handler.codec.DateFormatter;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.vertx.MutinyHelper;
import io.smallrye.mutiny.vertx.core.AbstractVerticle;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.mutiny.core.http.HttpServerRequest;
import io.vertx.mutiny.core.http.HttpServerResponse;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Date;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.logging.Level;
import java.util.logging.Logger;

/** All paths of the contract, on one event loop; there is one of these for each loop. */
final class HttpVerticle extends AbstractVerticle {

    private static final Logger LOG = Logger.getLogger(HttpVerticle.class.getName());
    private static final Set<String> PATHS = Set.of("/", "/sleep", "/bytes", "/cpu", "/info");
    private static final CharSequence METHODS = HttpHeaders.createOptimized("GET, HEAD");

    private final Settings settings;
    private final ThreadModel model;
    private final Traffic traffic;
    private Executor eventLoop;
    private CharSequence date;

    HttpVerticle(Settings settings, ThreadModel model, Traffic traffic) {
        this.settings = settings;
        this.model = model;
        this.traffic = traffic;
    }

    @Override
    public Uni<Void> asyncStart() {
        eventLoop = MutinyHelper.executor(context);
        refreshDate(0);
        vertx.setPeriodic(1_000 - System.currentTimeMillis() % 1_000, 1_000, this::refreshDate);
        HttpServerOptions options = new HttpServerOptions()
                .setAcceptBacklog(settings.backlog())
                .setMaxInitialLineLength(8_192)
                .setMaxHeaderSize(8_192)
                .setHttp2ClearTextEnabled(false);
        return vertx.createHttpServer(options)
                .requestHandler(this::handle)
                .listen(settings.port(), settings.address().getHostAddress())
                .replaceWithVoid();
    }

    /** Only this verticle's event loop writes and reads it, so a plain field does. */
    private void refreshDate(long timer) {
        date = HttpHeaders.createOptimized(DateFormatter.format(new Date()));
    }

    private void handle(HttpServerRequest request) {
        if (request.version() == null) {  // neither HTTP/1.0 nor HTTP/1.1
            request.connection().closeAndForget();
            return;
        }
        traffic.begin();
        model.handle(Uni.createFrom().deferred(() -> answer(request)), eventLoop)
                .subscribe().with(reply -> send(request, reply), failure -> {
                    LOG.log(Level.SEVERE, "cannot answer " + request.path(), failure);
                    send(request, Reply.FAILED);
                });
    }

    private Uni<Reply> answer(HttpServerRequest request) {
        String path = request.path();
        if (!PATHS.contains(path)) {
            return Uni.createFrom().item(Reply.NOT_FOUND);
        }
        if (request.method() != HttpMethod.GET && request.method() != HttpMethod.HEAD) {
            return Uni.createFrom().item(Reply.METHOD_NOT_ALLOWED);
        }
        try {
            return switch (path) {
                case "/" -> Uni.createFrom().item(Reply.HELLO);
                case "/sleep" -> model.sleep(Query.integer(request.query(), "ms", 60_000, 10_000),
                        Query.integer(request.query(), "lock", 1, 0) == 1).replaceWith(Reply.HELLO);
                case "/bytes" -> Uni.createFrom().item(
                        Reply.bytes(Query.integer(request.query(), "n", 16_777_216, Query.REQUIRED)));
                case "/cpu" -> {
                    int rounds = Query.integer(request.query(), "rounds", 10_000_000, Query.REQUIRED);
                    int ms = Query.integer(request.query(), "ms", 60_000, 0);
                    Uni<Reply> computed = model.compute(() -> Reply.plain(200, cpu(rounds)));
                    yield ms == 0 ? computed : model.sleep(ms, false).chain(() -> computed);
                }
                default -> Uni.createFrom().item(Reply.json(Info.json(settings, traffic.requests())));
            };
        } catch (Query.BadParameter bad) {
            return Uni.createFrom().item(Reply.plain(400, bad.getMessage()));
        }
    }

    private static String cpu(int rounds) throws GeneralSecurityException {
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        byte[] hash = new byte[32];
        for (int i = 0; i < rounds; i++) {
            sha256.update(hash);
            sha256.digest(hash, 0, hash.length);
        }
        return HexFormat.of().formatHex(hash);
    }

    private void send(HttpServerRequest request, Reply reply) {
        HttpServerResponse response = request.response().setStatusCode(reply.status())
                .putHeader(CONTENT_TYPE, reply.type())
                .putHeader(CONTENT_LENGTH, Integer.toString(reply.length()))
                .putHeader(DATE, date);
        if (reply == Reply.METHOD_NOT_ALLOWED) {
            response.putHeader(ALLOW, METHODS);
        }
        Uni<Void> sent = request.method() == HttpMethod.HEAD ? response.end()
                : reply.isOneChunk() ? response.end(reply.chunk())
                : response.send(reply.chunks());  // no faster than the client reads
        if (traffic.stopping()) {
            response.putHeader(CONNECTION, CLOSE);
            sent = sent.eventually(() -> request.connection().close());
        }
        sent.subscribe().with(done -> traffic.end(), clientHasLeft -> traffic.end());
    }
}
