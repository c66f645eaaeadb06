package zoo;

import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.Enumeration;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.tukaani.xz.XZInputStream;

/** A database's programs: the pinned ones that the build put beside the jar, else those of the system. */
record Programs(Path home, String origin) {
    private static final String RUNNABLE = "rwxr-xr-x";
    private static final String READABLE = "rw-r--r--";

    /** {@code spare}: where to unpack when the build's folder is closed to the account. */
    static Programs find(Engine engine, Account account, Path spare) throws IOException, InterruptedException {
        Path built = builtFolder();
        String name = engine.label + "-" + version(engine);
        Path jar = built.resolve(name + ".jar");
        if (Files.exists(jar)) {
            Path home = (account.reaches(built) ? built : spare).resolve(name);
            if (!Files.exists(home)) {
                unpack(engine, jar, home);
            }
            if (runs(engine, home)) {
                return new Programs(home, "embedded");
            }
        }
        for (Path home : systemHomes(engine)) {
            if (runs(engine, home)) {
                return new Programs(home, "system");
            }
        }
        throw new Refusal(engine.label + ": the embedded programs do not run here and the system has none; install them"
                + " (Debian, Ubuntu: postgresql, mariadb-server) or set JDBC_URL to a server");
    }

    private static String version(Engine engine) throws IOException {
        Properties versions = new Properties();
        try (InputStream in = Programs.class.getResourceAsStream("/databases.properties")) {
            versions.load(in);
        }
        return versions.getProperty(engine.label);
    }

    private static Path builtFolder() {
        try {
            Path code = Path.of(Programs.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            return code.resolveSibling("databases");
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static List<Path> systemHomes(Engine engine) throws IOException {
        return switch (engine) {
            case POSTGRESQL -> Stream.concat(
                            newestFirst(Path.of("/usr/lib/postgresql")).stream(),
                            Stream.of(Path.of("/usr"), Path.of("/usr/local")))
                    .toList();
            case MARIADB -> List.of(Path.of("/usr"), Path.of("/usr/local"));
        };
    }

    private static List<Path> newestFirst(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> versions = Files.list(folder)) {
            return versions.sorted(Comparator.<Path>naturalOrder().reversed()).toList();
        }
    }

    private static boolean runs(Engine engine, Path home) throws IOException, InterruptedException {
        try {
            return new ProcessBuilder(Engine.program(home, engine.server), "--version")
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (Refusal e) {
            return false; // not there
        }
    }

    private static void unpack(Engine engine, Path jar, Path home) throws IOException {
        Path part = home.resolveSibling(home.getFileName() + ".part");
        Files.createDirectories(part);
        try (JarFile archive = new JarFile(jar.toFile())) {
            switch (engine) {
                case POSTGRESQL -> unpackTar(archive, part);
                case MARIADB -> unpackFolder(archive, part);
            }
        }
        Files.move(part, home, StandardCopyOption.ATOMIC_MOVE);
    }

    /** PostgreSQL's jar holds one compressed archive. */
    private static void unpackTar(JarFile archive, Path home) throws IOException {
        JarEntry packed = entry(archive, ".txz").orElseThrow();
        try (TarArchiveInputStream in =
                new TarArchiveInputStream(new XZInputStream(archive.getInputStream(packed)))) {
            for (TarArchiveEntry file = in.getNextEntry(); file != null; file = in.getNextEntry()) {
                Path path = below(home, file.getName());
                if (file.isSymbolicLink()) {
                    Files.createDirectories(path.getParent());
                    Files.createSymbolicLink(path, Path.of(file.getLinkName()));
                } else if (file.isFile()) {
                    write(in, path, (file.getMode() & 0100) != 0);
                }
            }
        }
    }

    /** MariaDB's jar holds the files themselves, below a folder that is named after version and system. */
    private static void unpackFolder(JarFile archive, Path home) throws IOException {
        String server = entry(archive, "/bin/" + Engine.MARIADB.server).orElseThrow().getName();
        String root = server.substring(0, server.lastIndexOf("/bin/") + 1);
        Enumeration<JarEntry> entries = archive.entries();
        while (entries.hasMoreElements()) {
            JarEntry file = entries.nextElement();
            if (!file.isDirectory() && file.getName().startsWith(root)) {
                String name = file.getName().substring(root.length());
                try (InputStream in = archive.getInputStream(file)) {
                    write(in, below(home, name), name.startsWith("bin/") || name.startsWith("scripts/"));
                }
            }
        }
    }

    private static Optional<JarEntry> entry(JarFile archive, String end) {
        return archive.stream().filter(file -> file.getName().endsWith(end)).findFirst();
    }

    private static Path below(Path home, String name) {
        Path path = home.resolve(name).normalize();
        if (!path.startsWith(home)) {
            throw new IllegalStateException("an archive with a file outside of it: " + name);
        }
        return path;
    }

    private static void write(InputStream in, Path path, boolean runnable) throws IOException {
        Files.createDirectories(path.getParent());
        Files.copy(in, path, StandardCopyOption.REPLACE_EXISTING);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(runnable ? RUNNABLE : READABLE));
    }
}
