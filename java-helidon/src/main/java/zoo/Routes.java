package zoo;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.helidon.common.media.type.MediaTypes;
import io.helidon.http.Header;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.Method;
import io.helidon.http.Status;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.http.Handler;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import zoo.shared.Info;
import zoo.shared.Settings;
import zoo.shared.Work;

/** All paths of the contract, as plain blocking code. */
final class Routes {

    private static final Header TEXT = HeaderValues.createCached(HeaderNames.CONTENT_TYPE, Work.TEXT);
    private static final Header JSON = HeaderValues.createCached(HeaderNames.CONTENT_TYPE, "application/json");

    private final LongAdder requests = new LongAdder();
    private final AtomicInteger inProgress = new AtomicInteger();
    private final Info info;

    Routes(Settings settings) {
        info = new Info("java-helidon", "virtual", "virtual-thread", "Helidon SE", io.helidon.common.Version.VERSION,
                "blocking", null, Integer.MAX_VALUE, settings.backlog());
    }

    int inProgress() {
        return inProgress.get();
    }

    void add(HttpRouting.Builder routing) {
        routing.addFilter((chain, request, response) -> {
            requests.increment();
            inProgress.incrementAndGet();
            try {
                chain.proceed();
            } finally {
                inProgress.decrementAndGet();
            }
            if (response.headers().contains(HeaderValues.CONNECTION_CLOSE)) {  // 4.5.0 would keep the connection
                throw new CloseConnectionException("github.com/helidon-io/helidon/issues/12324");
            }
        });
        get(routing, "/", (request, response) -> send(request, response, TEXT, Work.HELLO));
        get(routing, "/sleep", (request, response) -> {
            Work.sleep(number(request, "ms", "10000", 60_000), number(request, "lock", "0", 1) == 1);
            send(request, response, TEXT, Work.HELLO);
        });
        get(routing, "/cpu", (request, response) -> {
            int rounds = number(request, "rounds", "", 10_000_000);
            Work.sleep(number(request, "ms", "0", 60_000), false);
            send(request, response, TEXT, Work.sha256(rounds));
        });
        get(routing, "/bytes", Routes::bytes);
        get(routing, "/info", (request, response) -> send(request, response, JSON, info.json(requests.sum())));
        routing.any((request, response) ->
                send(request, response.status(Status.NOT_FOUND_404), TEXT, "not found"));
        routing.error(IllegalArgumentException.class, (request, response, bad) ->
                send(request, response.status(Status.BAD_REQUEST_400), TEXT, bad.getMessage()));
    }

    /** Adds a path for GET and HEAD, and the response to all other methods. */
    private static void get(HttpRouting.Builder routing, String path, Handler handler) {
        routing.get(path, handler);
        routing.head(path, handler);
        routing.any(path, (request, response) -> {
            response.header(HeaderNames.ALLOW, "GET, HEAD");
            send(request, response.status(Status.METHOD_NOT_ALLOWED_405), TEXT, "method not allowed");
        });
    }

    private static void bytes(ServerRequest request, ServerResponse response) throws IOException {
        int n = number(request, "n", "", 16_777_216);
        response.headers().contentLength(n);
        response.headers().contentType(MediaTypes.APPLICATION_OCTET_STREAM);
        if (request.prologue().method() == Method.HEAD) {
            response.send();
            return;
        }
        try (OutputStream out = response.outputStream()) {
            Work.write(n, out);
        }
    }

    /** Leaves out the body of a response to HEAD, which Helidon would send. */
    private static void send(ServerRequest request, ServerResponse response, Header type, String body) {
        response.header(type);
        byte[] bytes = body.getBytes(UTF_8);
        if (request.prologue().method() == Method.HEAD) {
            response.headers().contentLength(bytes.length);
            response.send();
        } else {
            response.send(bytes);
        }
    }

    private static int number(ServerRequest request, String name, String otherwise, int max) {
        return Settings.integer(name, request.query().first(name).orElse(otherwise), 0, max);
    }
}
