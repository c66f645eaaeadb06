package zoo;

import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.StandardMBean;

/** All paths of the contract. It does not know on which kind of thread it runs. */
@WebServlet(urlPatterns = "/*", loadOnStartup = 1)
public final class ContractServlet extends HttpServlet {

    private static final long serialVersionUID = 1;

    private final transient LongAdder requests = new LongAdder();
    private final transient LongAdder inFlight = new LongAdder();
    private transient Info info;

    @Override
    public void init() throws ServletException {
        Settings settings = Settings.from(System.getenv(), 8104, "platform", "virtual");
        boolean virtual = settings.variant().equals("virtual");
        Integer bound = virtual || settings.maxThreads().isEmpty() ? null
                : (Integer) Math.max(settings.maxThreads().getAsInt(), 4);  // Liberty makes it no smaller
        var beans = ManagementFactory.getPlatformMBeanServer();
        try {
            StandardMBean counter = new StandardMBean((LongSupplier) inFlight::sum, LongSupplier.class);
            beans.registerMBean(counter, new ObjectName(Drain.IN_FLIGHT));
            Object version = beans.getAttribute(
                    new ObjectName("WebSphere:feature=kernel,name=ServerInfo"), "LibertyVersion");
            info = new Info("java-liberty", settings.variant(), virtual ? "virtual-thread" : "platform-thread",
                    "Open Liberty", version.toString(), "nio", bound, 1_000_000, settings.backlog());
        } catch (JMException failed) {
            throw new ServletException(failed);
        }
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws IOException, ServletException {
        requests.increment();
        inFlight.increment();
        try {
            if (isAmbiguous(request)) {
                response.setHeader("Connection", "close");
                throw new IllegalArgumentException("ambiguous Transfer-Encoding");
            }
            super.service(request, response);
        } catch (IllegalArgumentException bad) {
            response.setStatus(400);
            send(response, Work.TEXT, bad.getMessage() == null ? "bad query" : bad.getMessage());
        } finally {
            inFlight.decrement();
        }
    }

    /** Liberty reads a body as chunked whatever other codings there are. */
    private static boolean isAmbiguous(HttpServletRequest request) {
        List<String> codings = Collections.list(request.getHeaders("Transfer-Encoding"));
        return !codings.isEmpty() && (codings.size() > 1 || !codings.getFirst().strip().equalsIgnoreCase("chunked")
                || request.getHeader("Content-Length") != null);
    }

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response)
            throws IOException, ServletException {
        response.setHeader("Allow", "GET, HEAD");
        super.doPost(request, response);
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws IOException, ServletException {
        switch (request.getPathInfo()) {
            case "/" -> send(response, Work.TEXT, Work.HELLO);
            case "/sleep" -> {
                sleep(integer(request, "ms", 60_000, "10000"), integer(request, "lock", 1, "0") == 1);
                send(response, Work.TEXT, Work.HELLO);
            }
            case "/bytes" -> bytes(response, integer(request, "n", 16_777_216, null));
            case "/cpu" -> {
                int rounds = integer(request, "rounds", 10_000_000, null);
                sleep(integer(request, "ms", 60_000, "0"), false);
                send(response, Work.TEXT, Work.sha256(rounds));
            }
            case "/info" -> send(response, "application/json", info.json(requests.sum()));
            default -> response.sendError(404);
        }
    }

    /** Blocks the thread that the request runs on, of whatever kind. */
    private static void sleep(int ms, boolean lock) throws ServletException {
        try {
            if (lock) {
                Monitor.sleepInside(ms);
            } else if (ms > 0) {
                Thread.sleep(ms);
            }
        } catch (InterruptedException stopped) {
            throw new ServletException(stopped);
        }
    }

    private static void bytes(HttpServletResponse response, int n) throws IOException {
        response.setContentType("application/octet-stream");
        response.setContentLength(n);
        var out = response.getOutputStream();
        for (int left = n; left > 0; left -= Work.ALPHABETS.length) {
            out.write(Work.ALPHABETS, 0, Math.min(left, Work.ALPHABETS.length));
        }
        response.flushBuffer();  // a graceful stop takes the request for finished when this returns
    }

    /** A number of the query; one without a default has to be there. */
    private static int integer(HttpServletRequest request, String name, int max, String otherwise) {
        String text = request.getParameter(name);
        return Settings.integer(name, text == null ? otherwise : text, 0, max);
    }

    private static void send(HttpServletResponse response, String type, String text) throws IOException {
        byte[] body = text.getBytes(UTF_8);
        response.setContentType(type);
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }
}
