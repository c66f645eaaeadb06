package zoo;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.atomic.LongAdder;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Plain blocking code, the same in both variants. A number without a default is empty where it is missing. */
@RestController
class Endpoints {

    private static final MediaType TEXT = MediaType.valueOf(Work.TEXT);

    final LongAdder requests = new LongAdder();
    private final Info info;

    Endpoints(Info info) {
        this.info = info;
    }

    @GetMapping("/")
    ResponseEntity<String> hello() {
        return text(200, Work.HELLO);
    }

    @GetMapping("/sleep")
    ResponseEntity<String> sleep(@RequestParam(defaultValue = "10000") String ms,
            @RequestParam(defaultValue = "0") String lock) throws InterruptedException {
        int delay = Settings.integer("ms", ms, 0, 60_000);
        if (Settings.integer("lock", lock, 0, 1) == 1) {
            Monitor.sleepInside(delay);
        } else {
            Thread.sleep(delay);
        }
        return text(200, Work.HELLO);
    }

    /** Written in pieces: a {@code byte[]} for Spring to write would be up to 16 MiB for each request in flight. */
    @GetMapping("/bytes")
    void bytes(@RequestParam(defaultValue = "") String n, HttpServletResponse response) throws IOException {
        int left = Settings.integer("n", n, 0, 16 << 20);
        response.setContentType(MediaType.APPLICATION_OCTET_STREAM_VALUE);
        response.setContentLength(left);
        for (; left > 0; left -= Work.ALPHABETS.length) {
            response.getOutputStream().write(Work.ALPHABETS, 0, Math.min(left, Work.ALPHABETS.length));
        }
        response.flushBuffer(); // a graceful stop waits for handlers, not for buffers
    }

    @GetMapping("/cpu")
    ResponseEntity<String> cpu(@RequestParam(defaultValue = "") String rounds,
            @RequestParam(defaultValue = "0") String ms) throws InterruptedException {
        int number = Settings.integer("rounds", rounds, 0, 10_000_000);
        Thread.sleep(Settings.integer("ms", ms, 0, 60_000));
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

    /** As its type is given, Spring does not negotiate one. */
    private static ResponseEntity<String> text(int status, String body) {
        return ResponseEntity.status(status).contentType(TEXT).body(body);
    }
}
