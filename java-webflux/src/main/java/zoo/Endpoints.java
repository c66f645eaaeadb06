package zoo;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.atomic.LongAdder;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringBootVersion;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.MethodNotAllowedException;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import zoo.shared.Info;
import zoo.shared.Settings;
import zoo.shared.Work;

/** All paths of the contract; no method blocks. A missing number without a default is an empty text. */
@RestController
class Endpoints implements WebFilter {

    private static final MediaType TEXT = MediaType.valueOf(Work.TEXT);

    private final LongAdder requests = new LongAdder();
    private final Info info;
    private volatile String date;

    Endpoints(@Value("${BACKLOG:65535}") int backlog) {
        info = new Info("java-webflux", "reactive", "event-loop", "Spring Boot on Reactor Netty",
                SpringBootVersion.getVersion(), "epoll", null, Integer.MAX_VALUE, backlog);
        Flux.interval(Duration.ZERO, Duration.ofSeconds(1)).subscribe(second -> date = now());
        date = now();
    }

    /** Counts all requests, also those without a handler, and adds the date, which Reactor Netty leaves out. */
    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        requests.increment();
        ServerHttpResponse response = exchange.getResponse();
        response.getHeaders().set(HttpHeaders.DATE, date);
        var codings = exchange.getRequest().getHeaders().getOrEmpty(HttpHeaders.TRANSFER_ENCODING);
        if (!codings.isEmpty() && !String.join(",", codings).equalsIgnoreCase("chunked")) {
            response.setStatusCode(HttpStatus.BAD_REQUEST);  // Netty accepts other codings before this one
            response.getHeaders().set(HttpHeaders.CONNECTION, "close");
            return response.setComplete();
        }
        return chain.filter(exchange).doOnError(MethodNotAllowedException.class,
                wrong -> response.getHeaders().addAll(wrong.getHeaders()));  // Allow, which Boot leaves out
    }

    @GetMapping("/")
    Mono<ResponseEntity<String>> hello() {
        return Mono.just(text(200, Work.HELLO));
    }

    /** A timer instead of a thread that sleeps; the lock needs a thread and is ignored. */
    @GetMapping("/sleep")
    Mono<ResponseEntity<String>> sleep(@RequestParam(defaultValue = "10000") String ms,
            @RequestParam(defaultValue = "0") String lock) {
        Settings.integer("lock", lock, 0, 1);
        return after(Settings.integer("ms", ms, 0, 60_000)).thenReturn(text(200, Work.HELLO));
    }

    /** Hands the work to a scheduler with a thread per processor, as it is too long for an event loop. */
    @GetMapping("/cpu")
    Mono<ResponseEntity<String>> cpu(@RequestParam(defaultValue = "") String rounds,
            @RequestParam(defaultValue = "0") String ms) {
        int number = Settings.integer("rounds", rounds, 0, 10_000_000);
        return after(Settings.integer("ms", ms, 0, 60_000))
                .then(Mono.fromSupplier(() -> text(200, Work.sha256(number))).subscribeOn(Schedulers.parallel()));
    }

    /** Sends pieces as fast as the client reads them. */
    @GetMapping("/bytes")
    Mono<Void> bytes(@RequestParam(defaultValue = "") String n, ServerHttpResponse response) {
        int size = Settings.integer("n", n, 0, 16 << 20);
        int piece = Work.ALPHABETS.length;
        response.getHeaders().setContentType(MediaType.APPLICATION_OCTET_STREAM);
        response.getHeaders().setContentLength(size);
        return response.writeWith(Flux.range(0, Math.ceilDiv(size, piece))
                .map(i -> response.bufferFactory().wrap(
                        ByteBuffer.wrap(Work.ALPHABETS, 0, Math.min(piece, size - i * piece)))));
    }

    @GetMapping("/info")
    Mono<ResponseEntity<String>> info() {
        return Mono.just(ResponseEntity.ok().contentType(MediaType.APPLICATION_JSON).body(info.json(requests.sum())));
    }

    @ExceptionHandler
    ResponseEntity<String> badNumber(IllegalArgumentException bad) {
        return text(400, bad.getMessage());
    }

    private static String now() {
        return DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.now(ZoneOffset.UTC));
    }

    private static Mono<Long> after(int ms) {
        return ms == 0 ? Mono.just(0L) : Mono.delay(Duration.ofMillis(ms));
    }

    /** Gives the type, so that Spring does not negotiate one. */
    private static ResponseEntity<String> text(int status, String body) {
        return ResponseEntity.status(status).contentType(TEXT).body(body);
    }
}
