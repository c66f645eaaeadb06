package zoo;

import jakarta.servlet.ServletRequestEvent;
import jakarta.servlet.ServletRequestListener;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.atomic.LongAdder;
import org.apache.catalina.util.ServerInfo;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.tomcat.autoconfigure.TomcatServerProperties;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import zoo.shared.Info;
import zoo.shared.Settings;
import zoo.shared.Work;

/** Plain blocking code, the same in both variants. A missing number without a default is an empty text. */
@RestController
class Endpoints implements ServletRequestListener {

    private static final MediaType TEXT = MediaType.valueOf(Work.TEXT);

    private final LongAdder requests = new LongAdder();
    private final Info info;

    Endpoints(TomcatServerProperties tomcat, @Value("${spring.threads.virtual.enabled}") boolean virtual) {
        String variant = virtual ? "virtual" : "platform";
        info = new Info("java-spring", variant, variant + "-thread", "Spring Boot on " + ServerInfo.getServerInfo(),
                SpringBootVersion.getVersion(), "nio", virtual ? null : tomcat.getThreads().getMax(),
                tomcat.getMaxConnections(), tomcat.getAcceptCount());
    }

    /** Counts all requests; an interceptor would miss those without a handler. */
    @Override
    public void requestInitialized(ServletRequestEvent event) {
        requests.increment();
    }

    @GetMapping("/")
    ResponseEntity<String> hello() {
        return text(200, Work.HELLO);
    }

    @GetMapping("/sleep")
    ResponseEntity<String> sleep(@RequestParam(defaultValue = "10000") String ms,
            @RequestParam(defaultValue = "0") String lock) throws InterruptedException {
        Work.sleep(Settings.integer("ms", ms, 0, 60_000), Settings.integer("lock", lock, 0, 1) == 1);
        return text(200, Work.HELLO);
    }

    /** Writes pieces: a {@code byte[]} would take up to 16 MiB for each request in flight. */
    @GetMapping("/bytes")
    void bytes(@RequestParam(defaultValue = "") String n, HttpServletResponse response) throws IOException {
        int size = Settings.integer("n", n, 0, 16 << 20);
        response.setContentType(MediaType.APPLICATION_OCTET_STREAM_VALUE);
        response.setContentLength(size);
        Work.write(size, response.getOutputStream());
        response.flushBuffer(); // the drain waits for handlers, not for buffers
    }

    @GetMapping("/cpu")
    ResponseEntity<String> cpu(@RequestParam(defaultValue = "") String rounds,
            @RequestParam(defaultValue = "0") String ms) throws InterruptedException {
        int number = Settings.integer("rounds", rounds, 0, 10_000_000);
        Work.sleep(Settings.integer("ms", ms, 0, 60_000), false);
        return text(200, Work.sha256(number));
    }

    @GetMapping("/info")
    ResponseEntity<String> info() {
        return ResponseEntity.ok().contentType(MediaType.APPLICATION_JSON).body(info.json(requests.sum()));
    }

    @ExceptionHandler
    ResponseEntity<String> badNumber(IllegalArgumentException bad) {
        return text(400, bad.getMessage());
    }

    /** Gives the type, so that Spring does not negotiate one. */
    private static ResponseEntity<String> text(int status, String body) {
        return ResponseEntity.status(status).contentType(TEXT).body(body);
    }
}
