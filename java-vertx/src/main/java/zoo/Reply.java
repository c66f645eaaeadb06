package zoo;

import io.smallrye.mutiny.Multi;
import io.vertx.core.http.HttpHeaders;
import io.vertx.mutiny.core.buffer.Buffer;

/** An answer: its body is the text, repeated or cut to the length. */
record Reply(int status, CharSequence type, Buffer text, int length) {

    private static final CharSequence PLAIN = HttpHeaders.createOptimized("text/plain;charset=utf-8");
    private static final CharSequence JSON = HttpHeaders.createOptimized("application/json");
    private static final CharSequence BINARY = HttpHeaders.createOptimized("application/octet-stream");

    /** Whole rounds of the alphabet, so that the chunk can be sent again and again. */
    private static final Buffer ALPHABETS = Buffer.buffer("abcdefghijklmnopqrstuvwxyz".repeat(2_520));

    static final Reply HELLO = plain(200, "Hello, World!");
    static final Reply NOT_FOUND = plain(404, "not found");
    static final Reply METHOD_NOT_ALLOWED = plain(405, "method not allowed");
    static final Reply FAILED = plain(500, "internal server error");

    static Reply plain(int status, String text) {
        return of(status, PLAIN, text);
    }

    static Reply json(String text) {
        return of(200, JSON, text);
    }

    static Reply bytes(int length) {
        return new Reply(200, BINARY, ALPHABETS, length);
    }

    private static Reply of(int status, CharSequence type, String text) {
        Buffer buffer = Buffer.buffer(text);
        return new Reply(status, type, buffer, buffer.length());
    }

    boolean isOneChunk() {
        return length <= text.length();
    }

    Buffer chunk() {
        return length == text.length() ? text : text.slice(0, length);
    }

    Multi<Buffer> chunks() {
        int size = text.length();
        return Multi.createFrom().range(0, Math.ceilDiv(length, size))
                .map(i -> text.slice(0, Math.min(size, length - i * size)));
    }
}
