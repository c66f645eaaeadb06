package zoo;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HexFormat;
import java.util.Properties;
import java.util.Random;
import java.security.SecureRandom;

/** Handed to the benchmark's JVM in a file that only its owner reads: command lines are seen by everybody. */
record Credentials(String user, String password) {

    static Credentials made(String user) {
        byte[] bytes = new byte[16];
        Random random = new SecureRandom();
        random.nextBytes(bytes);
        return new Credentials(user, HexFormat.of().formatHex(bytes));
    }

    void write(Path file) throws IOException {
        Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Properties words = new Properties();
        words.setProperty("user", user);
        words.setProperty("password", password);
        try (Writer out = Files.newBufferedWriter(file)) {
            words.store(out, null);
        }
    }

    static Credentials read(Path file) throws IOException {
        Properties words = new Properties();
        try (Reader in = Files.newBufferedReader(file)) {
            words.load(in);
        }
        return new Credentials(words.getProperty("user"), words.getProperty("password"));
    }
}
