package zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WireTest {
    @TempDir
    Path folder;

    /** Needs Toxiproxy, which the build does not bring. */
    @Test
    void eachRoundTripTakesTheLatencyMore() throws Exception {
        assumeTrue(Wire.isThere());
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Wire wire = Wire.open(folder, Map.of())) {
            Thread.ofVirtual().start(() -> echo(server));
            String url = "jdbc:postgresql://127.0.0.1:" + server.getLocalPort() + "/zoo?x=1";
            String slowed = wire.slowed(url, 5432, 20);
            assertTrue(slowed.endsWith("/zoo?x=1"), slowed);
            try (Socket client = new Socket("127.0.0.1", URI.create(slowed.substring(5)).getPort())) {
                for (int i = 0; i < 5; i++) {
                    long start = System.nanoTime();
                    client.getOutputStream().write(i);
                    assertEquals(i, client.getInputStream().read());
                    double millis = (System.nanoTime() - start) / 1e6;
                    assertTrue(millis >= 20, millis + " ms");
                }
            }
        }
    }

    @Test
    void aWireThatWasThereBeforeGetsAProxyAndLosesItAgain() throws Exception {
        List<String> asked = new CopyOnWriteArrayList<>();
        HttpServer toxiproxy = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        toxiproxy.createContext("/", exchange -> {
            asked.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
            byte[] answer = "{\"listen\": \"[::]:4711\"}".getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, answer.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(answer);
            }
        });
        toxiproxy.start();
        String url = "http://127.0.0.1:" + toxiproxy.getAddress().getPort();
        try (Wire wire = Wire.open(folder, Map.of("TOXIPROXY_URL", url))) {
            assertEquals(
                    "jdbc:mariadb://127.0.0.1:4711/zoo?sslMode=disable",
                    wire.slowed("jdbc:mariadb://10.0.0.7/zoo?sslMode=disable", 3306, 10));
        } finally {
            toxiproxy.stop(0);
        }
        assertEquals("DELETE /proxies/zoo-database", asked.getLast());
    }

    private static void echo(ServerSocket server) {
        try (Socket client = server.accept();
                InputStream in = client.getInputStream();
                OutputStream out = client.getOutputStream()) {
            for (int b = in.read(); b >= 0; b = in.read()) {
                out.write(b);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
