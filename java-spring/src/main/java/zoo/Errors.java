package zoo;

import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.HttpRequestMethodNotSupportedException;
import org.springframework.web.bind.ServletRequestBindingException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.servlet.NoHandlerFoundException;

@RestControllerAdvice
class Errors {

    @ExceptionHandler
    ResponseEntity<String> badParameter(ServletRequestBindingException bad) {
        return Text.answer(HttpStatus.BAD_REQUEST).body(bad.getMessage());
    }

    @ExceptionHandler(NoHandlerFoundException.class)
    ResponseEntity<String> notFound() {
        return Text.answer(HttpStatus.NOT_FOUND).body("not found");
    }

    @ExceptionHandler(HttpRequestMethodNotSupportedException.class)
    ResponseEntity<String> methodNotAllowed() {
        return Text.answer(HttpStatus.METHOD_NOT_ALLOWED).header(HttpHeaders.ALLOW, "GET, HEAD")
                .body("method not allowed");
    }
}
