package zoo;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;

/** What the paths answer, whatever the thread model. The same text stands in every Java server. */
final class Work {

    static final String TEXT = "text/plain;charset=utf-8";
    static final String HELLO = "Hello, World!";

    /** A whole number of alphabets, so that the body of {@code /bytes} repeats it and cuts off the last one. */
    static final byte[] ALPHABETS = "abcdefghijklmnopqrstuvwxyz".repeat(2_520).getBytes(US_ASCII);

    private Work() {
    }

    /** SHA-256 that many times over, from 32 zero bytes, in hexadecimal. */
    static String sha256(int rounds) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] hash = new byte[32];
            for (int round = 0; round < rounds; round++) {
                digest.update(hash);
                digest.digest(hash, 0, hash.length);
            }
            return HexFormat.of().formatHex(hash);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
