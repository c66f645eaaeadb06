package zoo;

import java.io.IOException;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;

import jakarta.servlet.http.HttpServletResponse;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.databind.json.JsonMapper;

@RestController
class Endpoints {

    private static final String HELLO = "Hello, World!";

    /** Whole rounds of the alphabet, so that the chunk can be written again and again. */
    private static final byte[] CHUNK = "abcdefghijklmnopqrstuvwxyz".repeat(2520).getBytes();

    private final Info info;
    private final JsonMapper json;

    Endpoints(Info info, JsonMapper json) {
        this.info = info;
        this.json = json;
    }

    @GetMapping("/")
    ResponseEntity<String> hello() {
        return Text.ok(HELLO);
    }

    /** Blocks its thread; whether that is a pooled platform thread or a virtual one is not this code's concern. */
    @GetMapping("/sleep")
    ResponseEntity<String> sleep(@IntegerParam(name = "ms", max = 60_000, fallback = 10_000) int ms,
            @IntegerParam(name = "lock", max = 1, fallback = 0) int lock) throws InterruptedException {
        if (lock == 1) {
            Monitor.sleepInside(ms);
        } else {
            Thread.sleep(ms);
        }
        return Text.ok(HELLO);
    }

    @GetMapping("/bytes")
    void bytes(@IntegerParam(name = "n", max = 16 << 20) int n, HttpServletResponse response) throws IOException {
        response.setContentType(MediaType.APPLICATION_OCTET_STREAM_VALUE);
        response.setContentLength(n);
        OutputStream body = response.getOutputStream();
        for (int left = n; left > 0; left -= CHUNK.length) {
            body.write(CHUNK, 0, Math.min(left, CHUNK.length));
        }
        response.flushBuffer(); // a graceful stop counts the request as finished when this method returns
    }

    @GetMapping("/cpu")
    ResponseEntity<String> cpu(@IntegerParam(name = "rounds", max = 10_000_000) int rounds,
            @IntegerParam(name = "ms", max = 60_000, fallback = 0) int ms)
            throws GeneralSecurityException, InterruptedException {
        if (ms > 0) {
            Thread.sleep(ms);
        }
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        byte[] block = new byte[32];
        for (int i = 0; i < rounds; i++) {
            sha256.update(block);
            sha256.digest(block, 0, block.length);
        }
        return Text.ok(HexFormat.of().formatHex(block));
    }

    /** As bytes, because Spring's JSON converter would stream the object in chunks, without a Content-Length. */
    @GetMapping("/info")
    ResponseEntity<byte[]> info() {
        return ResponseEntity.ok().contentType(MediaType.APPLICATION_JSON).body(json.writeValueAsBytes(info.now()));
    }
}
