package zoo;

import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.ServletException;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URLDecoder;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import javax.management.JMException;
import javax.management.ObjectName;

/** All paths of the contract. It does not know on which kind of thread it runs. */
public final class ContractServlet extends HttpServlet {

    private static final long serialVersionUID = 1;

    private static final Set<String> PATHS = Set.of("/", "/sleep", "/bytes", "/cpu", "/info");
    private static final Set<String> METHODS = Set.of("GET", "HEAD");
    private static final String TEXT = "text/plain;charset=utf-8";
    private static final byte[] HELLO = "Hello, World!".getBytes(UTF_8);
    private static final byte[] ALPHABETS = "abcdefghijklmnopqrstuvwxyz".repeat(2_520).getBytes(UTF_8);
    private static final String[] NO_PAIRS = { };
    private static final long REQUIRED = -1;

    private final transient Settings settings = Settings.from(System.getenv());
    private final transient Traffic traffic = new Traffic();

    @Override
    public void init() throws ServletException {
        try {
            ManagementFactory.getPlatformMBeanServer().registerMBean(traffic, new ObjectName(TrafficMBean.NAME));
        } catch (JMException failed) {
            throw new ServletException(failed);
        }
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws IOException, ServletException {
        traffic.begin();
        try {
            answer(request, response);
        } catch (BadParameter bad) {
            send(response, 400, TEXT, bad.getMessage().getBytes(UTF_8));
        } catch (InterruptedException | GeneralSecurityException | JMException failed) {
            throw new ServletException(failed);
        } finally {
            traffic.end();
        }
    }

    /** Liberty lets TRACE through to a servlet that has this method, and only looks whether it is there. */
    @Override
    protected void doTrace(HttpServletRequest request, HttpServletResponse response) throws IOException {
        notAllowed(response);
    }

    private void answer(HttpServletRequest request, HttpServletResponse response)
            throws IOException, BadParameter, InterruptedException, GeneralSecurityException, JMException {
        String path = request.getRequestURI();  // as sent: paths are exact, so neither decoded nor normalised
        if (!PATHS.contains(path)) {
            send(response, 404, TEXT, "not found".getBytes(UTF_8));
            return;
        }
        if (!METHODS.contains(request.getMethod())) {
            notAllowed(response);
            return;
        }
        switch (path) {
            case "/" -> send(response, 200, TEXT, HELLO);
            case "/sleep" -> {
                long ms = integer(request, "ms", 60_000, 10_000);
                if (integer(request, "lock", 1, 0) == 1) {
                    Monitor.sleepInside(ms);
                } else {
                    Thread.sleep(ms);
                }
                send(response, 200, TEXT, HELLO);
            }
            case "/bytes" -> bytes(response, (int) integer(request, "n", 16_777_216, REQUIRED));
            case "/cpu" -> {
                long rounds = integer(request, "rounds", 10_000_000, REQUIRED);
                long ms = integer(request, "ms", 60_000, 0);
                if (ms > 0) {
                    Thread.sleep(ms);
                }
                send(response, 200, TEXT, cpu(rounds));
            }
            default -> send(response, 200, "application/json",
                    Info.json(settings, traffic.getRequests()).getBytes(UTF_8));
        }
    }

    private static void notAllowed(HttpServletResponse response) throws IOException {
        response.setHeader("Allow", "GET, HEAD");
        send(response, 405, TEXT, "method not allowed".getBytes(UTF_8));
    }

    private static void bytes(HttpServletResponse response, int n) throws IOException {
        response.setContentType("application/octet-stream");
        response.setContentLength(n);
        ServletOutputStream out = response.getOutputStream();
        for (int left = n; left > 0; left -= ALPHABETS.length) {
            out.write(ALPHABETS, 0, Math.min(left, ALPHABETS.length));
        }
        response.flushBuffer();  // a graceful stop takes the request for finished when this returns
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

    private static final class BadParameter extends Exception {

        private static final long serialVersionUID = 1;

        BadParameter(String name, long max) {
            super("%s must be an integer from 0 to %d".formatted(name, max));
        }
    }
}
