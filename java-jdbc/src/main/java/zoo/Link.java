package zoo;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * What the launcher tells the benchmark's JVM, as system properties: where the database is, and what was measured
 * and found out about the way to it.
 */
record Link(
        String url, Path credentials, String server, long serverPid, double directMillis, double addedMillis) {

    String describe() {
        return String.format(
                Locale.ROOT, "%s; round trip %.2f ms, on the wire %.2f ms more", server, directMillis, addedMillis);
    }

    List<String> jvmArguments() {
        return List.of(
                "-Dzoo.url=" + url,
                "-Dzoo.credentials=" + credentials,
                "-Dzoo.server=" + server,
                "-Dzoo.server.pid=" + serverPid,
                "-Dzoo.roundtrip.direct=" + directMillis,
                "-Dzoo.roundtrip.added=" + addedMillis);
    }

    static Link told() {
        if (System.getProperty("zoo.url") == null) {
            throw new Refusal("start this benchmark by java -jar target/java-jdbc.jar, which starts the database too");
        }
        return new Link(
                System.getProperty("zoo.url"),
                Path.of(System.getProperty("zoo.credentials")),
                System.getProperty("zoo.server"),
                Long.getLong("zoo.server.pid"),
                Double.parseDouble(System.getProperty("zoo.roundtrip.direct")),
                Double.parseDouble(System.getProperty("zoo.roundtrip.added")));
    }

    Credentials readCredentials() throws IOException {
        return Credentials.read(credentials);
    }
}
