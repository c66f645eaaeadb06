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
import java.util.concurrent.atomic.LongAdder;
import javax.management.JMException;
import javax.management.ObjectName;
import zoo.shared.Info;
import zoo.shared.Settings;
import zoo.shared.Work;

/** All paths of the contract. It does not know on which kind of thread it runs. */
@WebServlet(urlPatterns = "/*", loadOnStartup = 1)
@SuppressWarnings("serial")
public final class ContractServlet extends HttpServlet {

    private final LongAdder requests = new LongAdder();
    private Info info;

    @Override
    public void init() throws ServletException {
        Settings settings = Settings.read(8104, 0, "platform", "virtual");
        boolean virtual = settings.variant().equals("virtual");
        Integer bound = virtual || settings.maxThreads() == 0 ? null
                : (Integer) Math.max(settings.maxThreads(), 4);  // Liberty makes it no smaller
        try {
            Object version = ManagementFactory.getPlatformMBeanServer().getAttribute(
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
        try {
            if (isAmbiguous(request)) {
                response.setHeader("Connection", "close");
                throw new IllegalArgumentException("ambiguous Transfer-Encoding");
            }
            super.service(request, response);
        } catch (IllegalArgumentException bad) {
            response.setStatus(400);
            send(response, Work.TEXT, bad.getMessage() == null ? "bad query" : bad.getMessage());
        }
    }

    /** Liberty reads a body as chunked whatever other codings there are. */
    private static boolean isAmbiguous(HttpServletRequest request) {
        String codings = String.join(",", Collections.list(request.getHeaders("Transfer-Encoding"))).strip();
        return request.getHeader("Transfer-Encoding") != null
                && (!codings.equalsIgnoreCase("chunked") || request.getHeader("Content-Length") != null);
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
            Work.sleep(ms, lock);
        } catch (InterruptedException stopped) {
            throw new ServletException(stopped);
        }
    }

    private static void bytes(HttpServletResponse response, int n) throws IOException {
        response.setContentType("application/octet-stream");
        response.setContentLength(n);
        Work.write(n, response.getOutputStream());
        response.flushBuffer();  // Liberty takes a request for finished when its servlet returns
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
