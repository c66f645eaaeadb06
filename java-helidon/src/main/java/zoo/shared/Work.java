package zoo.shared;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;

/** The work behind the paths, whatever the thread model. Every Java server contains the same text. */
public final class Work {

    public static final String TEXT = "text/plain;charset=utf-8";
    public static final String HELLO = "Hello, World!";
    /** A whole number of alphabets, which the body of {@code /bytes} repeats. */
    public static final byte[] ALPHABETS = "abcdefghijklmnopqrstuvwxyz".repeat(2_520).getBytes(US_ASCII);

    /** The newest monitor. If it were not published, the compiler could remove its lock. */
    private static volatile Object newest;

    /** Blocks the current thread. With the lock, a virtual thread holds its carrier meanwhile before JDK 24. */
    public static void sleep(int ms, boolean lock) throws InterruptedException {
        Object monitor = new Object();
        if (lock) {
            newest = monitor;
            synchronized (monitor) {
                Thread.sleep(ms);
            }
        } else if (ms > 0) {  // sleep(0) would yield
            Thread.sleep(ms);
        }
    }

    /** Writes the body of {@code /bytes}. */
    public static void write(int n, OutputStream out) throws IOException {
        for (int left = n; left > 0; left -= ALPHABETS.length) {
            out.write(ALPHABETS, 0, Math.min(left, ALPHABETS.length));
        }
    }

    /** Returns SHA-256 applied {@code rounds} times to 32 zero bytes, in hexadecimal. */
    public static String sha256(int rounds) {
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
