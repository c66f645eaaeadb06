package zoo;

import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;

/** Plain text answers. A content type set here is not negotiated: the {@code Accept} header changes nothing. */
final class Text {

    private static final MediaType PLAIN_UTF8 = MediaType.valueOf("text/plain;charset=utf-8");

    private Text() {
    }

    static ResponseEntity<String> ok(String body) {
        return answer(HttpStatus.OK).body(body);
    }

    static ResponseEntity.BodyBuilder answer(HttpStatus status) {
        return ResponseEntity.status(status).contentType(PLAIN_UTF8);
    }
}
