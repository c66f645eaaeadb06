package zoo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.MILLISECONDS;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Supplier;
import org.apache.catalina.Server;
import zoo.shared.Settings;
import zoo.shared.Work;

/** All paths of the contract. */
final class ContractServlet extends HttpServlet {

    private static final int NO_ROUNDS = -1;

    /** The backing service: ONE thread, which answers each call when its delay is over. */
    private final ScheduledExecutorService service = Executors.newSingleThreadScheduledExecutor();
    private final Server tomcat;
    private final Supplier<String> info;

    ContractServlet(Server tomcat, Supplier<String> info) {
        this.tomcat = tomcat;
        this.info = info;
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        try {
            switch (request.getPathInfo()) {
                case "/" -> send(response, Work.TEXT, Work.HELLO);
                case "/sleep" -> after(request, response, "10000", tomcat.getUtilityExecutor(), NO_ROUNDS);
                case "/service" -> after(request, response, "5000", service, NO_ROUNDS);
                case "/cpu" -> after(request, response, "0", tomcat.getUtilityExecutor(),
                        number(request, "rounds", null, 10_000_000));
                case "/bytes" -> bytes(response, number(request, "n", null, 16_777_216));
                case "/info" -> send(response, "application/json", info.get());
                default -> response.sendError(HttpServletResponse.SC_NOT_FOUND);
            }
        } catch (IllegalArgumentException bad) {
            response.setStatus(HttpServletResponse.SC_BAD_REQUEST);
            send(response, Work.TEXT, bad.getMessage());
        } catch (InterruptedException | ExecutionException failed) {
            throw new IOException(failed);
        }
    }

    /** Adds the header that HttpServlet leaves out of its 405. */
    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setHeader("Allow", "GET, HEAD");
        response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED);
    }

    /** Responds after the delay: async returns its thread until the clock calls, the other variants block theirs. */
    private void after(HttpServletRequest request, HttpServletResponse response, String delay,
            ScheduledExecutorService clock, int rounds) throws IOException, InterruptedException, ExecutionException {
        int ms = number(request, "ms", delay, 60_000);
        boolean lock = number(request, "lock", "0", 1) == 1;
        Supplier<String> body = () -> rounds == NO_ROUNDS ? Work.HELLO : Work.sha256(rounds);
        if (request.isAsyncSupported() && (ms > 0 || clock == service)) {
            AsyncContext context = request.startAsync();
            response.setContentType(Work.TEXT);
            PrintWriter out = response.getWriter();
            clock.schedule(() -> context.start(() -> {  // on a thread of the pool
                out.print(body.get());
                context.complete();
            }), ms, MILLISECONDS);
            return;
        }
        if (clock == service) {
            service.schedule(() -> { }, ms, MILLISECONDS).get();
        } else {
            Work.sleep(ms, lock);
        }
        send(response, Work.TEXT, body.get());
    }

    private static void bytes(HttpServletResponse response, int n) throws IOException {
        response.setContentType("application/octet-stream");
        response.setContentLength(n);
        Work.write(n, response.getOutputStream());
        response.flushBuffer();  // a stop waits for handlers, not for buffers
    }

    private static void send(HttpServletResponse response, String type, String body) throws IOException {
        response.setContentType(type);
        response.getOutputStream().write(body.getBytes(UTF_8));
    }

    private static int number(HttpServletRequest request, String name, String otherwise, int max) {
        String text = request.getParameter(name);
        return Settings.integer(name, text == null ? otherwise : text, 0, max);
    }
}
