package zoo;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Toxiproxy in front of the server: each byte is late by half of the latency on its way there, by half on its way back. */
final class Wire implements AutoCloseable {
    private static final String PROGRAM = "toxiproxy-server";
    private static final String PROXIES = "/proxies";
    private static final String PROXY = "zoo-database";

    /** Null for one that was there before. */
    private final Child child;
    private final URI control;
    private final HttpClient client = HttpClient.newHttpClient();

    private Wire(Child child, URI control) {
        this.child = child;
        this.control = control;
    }

    /** The one that TOXIPROXY_URL names, else one of our own. */
    static Wire open(Path folder, Map<String, String> environment) throws IOException, InterruptedException {
        String url = environment.get("TOXIPROXY_URL");
        Wire wire = url == null ? start(folder) : new Wire(null, address(url));
        try {
            wire.awaitReady();
        } catch (IOException | InterruptedException | RuntimeException e) {
            wire.end();
            throw e;
        }
        return wire;
    }

    private static URI address(String url) {
        if (!url.matches("http://[^/ ]+/?")) {
            throw new Refusal("TOXIPROXY_URL must be like http://127.0.0.1:8474, got \"" + url + "\"");
        }
        return URI.create(url);
    }

    private static Wire start(Path folder) throws IOException {
        int port = Child.freePort();
        List<String> command = List.of(program().toString(), "-host", "127.0.0.1", "-port", Integer.toString(port));
        Child child = Child.start(PROGRAM, command, Files.createFile(folder.resolve("wire.log")), "TERM");
        return new Wire(child, URI.create("http://127.0.0.1:" + port));
    }

    /** The URL of the same database through the proxy. */
    String slowed(String url, int defaultPort, int millis) throws IOException, InterruptedException {
        URI database = URI.create(url.substring("jdbc:".length()));
        if (database.getHost() == null) {
            throw new Refusal("latency on the wire needs a URL with one host, not " + url);
        }
        int upstream = database.getPort() == -1 ? defaultPort : database.getPort();
        // port 0: one that is free; a proxy on another host has to listen for us from outside
        Map<String, Object> proxy = post(PROXIES, String.format(Locale.ROOT, """
                {"name": "%s", "listen": "%s:0", "upstream": "%s:%d", "enabled": true}""",
                PROXY, child == null ? "0.0.0.0" : "127.0.0.1", database.getHost(), upstream));
        addLatency("upstream", millis / 2);
        addLatency("downstream", millis - millis / 2);
        String listen = proxy.get("listen").toString();
        return url.replaceFirst("//[^/?]+", "//" + control.getHost() + listen.substring(listen.lastIndexOf(':')));
    }

    void refuseDead() {
        if (child != null) {
            child.refuseDead();
        }
    }

    @Override
    public void close() {
        if (child == null) {
            removeProxy();
        }
        end();
    }

    private void end() {
        client.close();
        if (child != null) {
            child.close();
        }
    }

    private void removeProxy() {
        HttpRequest request = request(PROXIES + "/" + PROXY).DELETE().build();
        try {
            client.send(request, HttpResponse.BodyHandlers.discarding());
        } catch (IOException e) {
            System.err.println("java-jdbc: the proxy " + PROXY + " was left at " + control + ": " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void addLatency(String direction, int millis) throws IOException, InterruptedException {
        post(PROXIES + "/" + PROXY + "/toxics", String.format(Locale.ROOT, """
                {"type": "latency", "stream": "%s", "attributes": {"latency": %d, "jitter": 0}}""",
                direction, millis));
    }

    private Map<String, Object> post(String path, String body) throws IOException, InterruptedException {
        HttpRequest request = request(path).POST(BodyPublishers.ofString(body)).build();
        HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() >= 300) {
            throw new Refusal(PROGRAM + " refused " + path + ": " + answer.body());
        }
        return JSON.std.mapFrom(answer.body());
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(control.resolve(path)).timeout(Duration.ofSeconds(10));
    }

    private void awaitReady() throws IOException, InterruptedException {
        long end = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (true) {
            refuseDead();
            try {
                client.send(request("/version").build(), HttpResponse.BodyHandlers.discarding());
                return;
            } catch (ConnectException e) {
                if (System.nanoTime() > end) {
                    throw new Refusal(PROGRAM + " does not answer at " + control, e);
                }
                Thread.sleep(50);
            }
        }
    }

    static boolean isThere() {
        return find().isPresent();
    }

    private static Path program() {
        return find().orElseThrow(() -> new Refusal("latency on the wire needs " + PROGRAM
                + ": make toxiproxy (needs Go), TOXIPROXY=/path/to/it, or TOXIPROXY_URL=http://… of one that runs"));
    }

    /** TOXIPROXY names it; else it is in .tools beside this folder, where make puts it, or on the PATH. */
    private static Optional<Path> find() {
        String named = System.getenv("TOXIPROXY");
        if (named != null) {
            return Optional.of(Path.of(named));
        }
        return Stream.concat(
                        Stream.of(Path.of("../.tools"), Path.of(".tools")),
                        Stream.of(System.getenv("PATH").split(":")).map(Path::of))
                .map(folder -> folder.resolve(PROGRAM))
                .filter(Files::isExecutable)
                .map(Path::toAbsolutePath)
                .findFirst();
    }
}
