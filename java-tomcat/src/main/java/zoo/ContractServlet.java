package zoo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.MILLISECONDS;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URLDecoder;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.LongAdder;
import zoo.Settings.Variant;

/** All paths of the contract. Only {@link #helloAfter} knows about thread models. */
final class ContractServlet extends HttpServlet {

    private static final long serialVersionUID = 1;

    private static final Set<String> PATHS = Set.of("/", "/sleep", "/service", "/bytes", "/cpu", "/info");
    private static final Set<String> METHODS = Set.of("GET", "HEAD");
    private static final String TEXT = "text/plain;charset=utf-8";
    private static final byte[] HELLO = "Hello, World!".getBytes(UTF_8);
    private static final byte[] ALPHABETS = "abcdefghijklmnopqrstuvwxyz".repeat(2_520).getBytes(UTF_8);
    private static final String[] NO_PAIRS = { };
    private static final long REQUIRED = -1;

    private final transient Settings settings;
    private final transient LongAdder requests = new LongAdder();
    private final transient LongAdder inFlight = new LongAdder();
    private final transient ScheduledExecutorService timer = singleThread("timer");

    /** The backing service: ONE thread takes calls from a queue and answers each when its delay is over. */
    private final transient ScheduledExecutorService service = singleThread("service");

    ContractServlet(Settings settings) {
        this.settings = settings;
    }

    long requests() {
        return requests.sum();
    }

    long inFlight() {
        return inFlight.sum();
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws IOException, ServletException {
        requests.increment();
        inFlight.increment();
        try {
            answer(request, response);
        } catch (BadParameter bad) {
            send(response, 400, TEXT, bad.getMessage().getBytes(UTF_8));
        } catch (InterruptedException | ExecutionException | GeneralSecurityException failed) {
            throw new ServletException(failed);
        } finally {
            inFlight.decrement();
        }
    }

    private void answer(HttpServletRequest request, HttpServletResponse response)
            throws IOException, BadParameter, ExecutionException, InterruptedException, GeneralSecurityException {
        String path = request.getRequestURI();  // as sent: paths are exact, so neither decoded nor normalised
        if (!PATHS.contains(path)) {
            send(response, 404, TEXT, "not found".getBytes(UTF_8));
            return;
        }
        if (!METHODS.contains(request.getMethod())) {
            response.setHeader("Allow", "GET, HEAD");
            send(response, 405, TEXT, "method not allowed".getBytes(UTF_8));
            return;
        }
        switch (path) {
            case "/" -> send(response, 200, TEXT, HELLO);
            case "/sleep" -> helloAfter(integer(request, "ms", 60_000, 10_000),
                    integer(request, "lock", 1, 0) == 1, timer, request, response);
            case "/service" -> helloAfter(integer(request, "ms", 60_000, 5_000), false, service, request, response);
            case "/bytes" -> bytes(response, (int) integer(request, "n", 16_777_216, REQUIRED));
            case "/cpu" -> cpuAfter(integer(request, "rounds", 10_000_000, REQUIRED),
                    integer(request, "ms", 60_000, 0), request, response);
            default -> send(response, 200, "application/json", Info.json(settings, requests()).getBytes(UTF_8));
        }
    }

    /** The one place where the variants differ: async leaves its pool thread here, the others block theirs. */
    private void helloAfter(long ms, boolean lock, ScheduledExecutorService thread, HttpServletRequest request,
            HttpServletResponse response) throws IOException, ExecutionException, InterruptedException {
        if (settings.variant() == Variant.ASYNC) {
            AsyncContext context = request.startAsync();
            context.setTimeout(0);  // none: the delay is the limit
            inFlight.increment();
            thread.schedule(() -> {
                try {
                    send(response, 200, TEXT, HELLO);
                } finally {
                    inFlight.decrement();
                    context.complete();
                }
                return null;  // a Callable, as send may throw: a client that has left is nobody's error
            }, ms, MILLISECONDS);
            return;
        }
        if (thread == service) {
            service.schedule(() -> { }, ms, MILLISECONDS).get();
        } else if (lock) {
            Monitor.sleepInside(ms);
        } else {
            Thread.sleep(ms);
        }
        send(response, 200, TEXT, HELLO);
    }

    /** Waits as above, and computes on a thread of the pool in any case. */
    private void cpuAfter(long rounds, long ms, HttpServletRequest request, HttpServletResponse response)
            throws IOException, InterruptedException, GeneralSecurityException {
        if (ms > 0 && settings.variant() == Variant.ASYNC) {
            AsyncContext context = request.startAsync();
            context.setTimeout(0);
            inFlight.increment();
            timer.schedule(() -> context.start(() -> {
                try {
                    send(response, 200, TEXT, cpu(rounds));
                } catch (IOException clientHasLeft) {
                    // nobody's error
                } catch (GeneralSecurityException impossible) {
                    throw new IllegalStateException(impossible);
                } finally {
                    inFlight.decrement();
                    context.complete();
                }
            }), ms, MILLISECONDS);
            return;
        }
        if (ms > 0) {
            Thread.sleep(ms);
        }
        send(response, 200, TEXT, cpu(rounds));
    }

    private static void bytes(HttpServletResponse response, int n) throws IOException {
        response.setContentType("application/octet-stream");
        response.setContentLength(n);
        ServletOutputStream out = response.getOutputStream();
        for (int left = n; left > 0; left -= ALPHABETS.length) {
            out.write(ALPHABETS, 0, Math.min(left, ALPHABETS.length));
        }
    }

    private static byte[] cpu(long rounds) throws GeneralSecurityException {
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        byte[] hash = new byte[32];
        for (long i = 0; i < rounds; i++) {
            sha256.update(hash);
            sha256.digest(hash, 0, hash.length);
        }
        return HexFormat.of().formatHex(hash).getBytes(UTF_8);
    }

    private static void send(HttpServletResponse response, int status, String type, byte[] body) throws IOException {
        response.setStatus(status);
        response.setContentType(type);
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }

    /** Not getParameter: it fails for broken percent-encoding anywhere in the query, and hides what is given twice. */
    private static long integer(HttpServletRequest request, String name, long max, long otherwise)
            throws BadParameter {
        String query = request.getQueryString();
        List<String> values = new ArrayList<>(1);
        for (String pair : query == null ? NO_PAIRS : query.split("&")) {
            String[] parts = pair.split("=", 2);
            if (decoded(parts[0]).equals(name)) {
                values.add(parts.length == 2 ? decoded(parts[1]) : "");
            }
        }
        if (values.isEmpty() && otherwise != REQUIRED) {
            return otherwise;
        }
        OptionalLong value = values.size() == 1 ? Settings.integer(values.getFirst(), 0, max) : OptionalLong.empty();
        return value.orElseThrow(() -> new BadParameter(name, max));
    }

    /** The text behind the percent-encoding, or "" (no name and no number) where that is broken. */
    private static String decoded(String text) {
        try {
            return URLDecoder.decode(text, UTF_8);
        } catch (IllegalArgumentException broken) {
            return "";
        }
    }

    private static ScheduledExecutorService singleThread(String name) {
        return Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name(name).factory());
    }

    private static final class BadParameter extends Exception {

        private static final long serialVersionUID = 1;

        BadParameter(String name, long max) {
            super("%s must be an integer from 0 to %d".formatted(name, max));
        }
    }
}
