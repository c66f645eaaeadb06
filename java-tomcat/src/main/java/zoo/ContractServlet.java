package zoo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.MILLISECONDS;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Supplier;

/** All paths of the contract; HttpServlet itself answers HEAD. */
@SuppressWarnings("serial")
final class ContractServlet extends HttpServlet {

    private static final byte[] HELLO = Work.HELLO.getBytes(UTF_8);
    private static final int NO_ROUNDS = -1;

    private final Supplier<String> info;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    /** The backing service: ONE thread takes calls from a queue and answers each when its delay is over. */
    private final ScheduledExecutorService service = Executors.newSingleThreadScheduledExecutor();

    ContractServlet(Supplier<String> info) {
        this.info = info;
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        try {
            switch (request.getPathInfo()) {
                case "/" -> send(response, Work.TEXT, HELLO);
                case "/sleep" -> after("10000", timer, NO_ROUNDS, request, response);
                case "/service" -> after("5000", service, NO_ROUNDS, request, response);
                case "/cpu" -> after("0", timer, number(request, "rounds", null, 10_000_000), request, response);
                case "/bytes" -> bytes(number(request, "n", null, 16_777_216), response);
                case "/info" -> send(response, "application/json", info.get().getBytes(UTF_8));
                default -> response.sendError(HttpServletResponse.SC_NOT_FOUND);
            }
        } catch (IllegalArgumentException bad) {
            response.setStatus(HttpServletResponse.SC_BAD_REQUEST);
            send(response, Work.TEXT, bad.getMessage().getBytes(UTF_8));
        } catch (InterruptedException | ExecutionException failed) {
            throw new ServletException(failed);
        }
    }

    /** HttpServlet refuses by itself, but without the header. */
    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        response.setHeader("Allow", "GET, HEAD");
        super.doPost(request, response);
    }

    /** Here the variants differ: async gives its thread back until the clock calls, the others wait on theirs. */
    private void after(String delay, ScheduledExecutorService clock, int rounds, HttpServletRequest request,
            HttpServletResponse response) throws IOException, ExecutionException, InterruptedException {
        int ms = number(request, "ms", delay, 60_000);
        boolean lock = number(request, "lock", "0", 1) == 1;
        if (request.isAsyncSupported() && (ms > 0 || clock == service)) {
            AsyncContext context = request.startAsync();
            context.setTimeout(0);  // none: the delay is the limit
            Runnable answer = () -> {
                try {
                    send(response, Work.TEXT, body(rounds));
                } catch (IOException clientHasLeft) {
                    // nobody's error
                } finally {
                    context.complete();
                }
            };
            clock.schedule(rounds == NO_ROUNDS ? answer : () -> context.start(answer), ms, MILLISECONDS);
            return;
        }
        if (clock == service) {
            service.schedule(() -> { }, ms, MILLISECONDS).get();
        } else if (lock) {
            Monitor.sleepInside(ms);
        } else if (ms > 0) {
            Thread.sleep(ms);
        }
        send(response, Work.TEXT, body(rounds));
    }

    private static byte[] body(int rounds) {
        return rounds == NO_ROUNDS ? HELLO : Work.sha256(rounds).getBytes(UTF_8);
    }

    private static void bytes(int n, HttpServletResponse response) throws IOException {
        response.setContentType("application/octet-stream");
        response.setContentLength(n);
        for (int left = n; left > 0; left -= Work.ALPHABETS.length) {
            response.getOutputStream().write(Work.ALPHABETS, 0, Math.min(left, Work.ALPHABETS.length));
        }
        response.flushBuffer();  // a graceful stop waits for handlers, not for buffers
    }

    /** Tomcat sets the length of what fits its buffer. */
    private static void send(HttpServletResponse response, String type, byte[] body) throws IOException {
        response.setContentType(type);
        response.getOutputStream().write(body);
    }

    private static int number(HttpServletRequest request, String name, String otherwise, int max) {
        String text = request.getParameter(name);
        return Settings.integer(name, text == null ? otherwise : text, 0, max);
    }
}
