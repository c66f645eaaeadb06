package zoo;

import io.helidon.logging.common.LogConfig;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http1.Http1Config;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import zoo.shared.Settings;

/** Helidon has one thread model: each connection has a virtual thread, which reads, handles and writes. */
public final class Main {

    public static void main(String[] args) {
        Settings settings = Settings.read(8107, 200, "virtual");
        LogConfig.configureRuntime();
        Routes routes = new Routes(settings);
        WebServer server = WebServer.builder()
                .address(settings.address())
                .port(settings.port())
                .backlog(settings.backlog())
                .idleConnectionTimeout(Duration.ofMinutes(2))
                .shutdownGracePeriod(Duration.ofSeconds(10))
                .shutdownHook(false)
                .addProtocol(Http1Config.builder().maxPrologueLength(8_300).build())
                .routing(routes::add)
                .build();
        server.start();
        if (!server.isRunning()) {  // the reason was logged
            throw Settings.exit("cannot listen on " + settings.authority());
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> drain(server, routes)));
        System.out.println("listening on http://%s (java-helidon:virtual)".formatted(settings.authority()));
    }

    /** Stops listening, and lets the JVM exit when no request is in progress; stop() also waits for idle connections. */
    private static void drain(WebServer server, Routes routes) {
        Thread stopping = Thread.startVirtualThread(server::stop);
        do {
            LockSupport.parkNanos(20_000_000);
        } while (routes.inProgress() > 0 && stopping.isAlive());
    }
}
