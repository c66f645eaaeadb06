package zoo;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** The one place Liberty writes to: a temporary folder, marked by a lock as long as its process lives. */
final class WorkFolder {

    static final String SERVER = "zoo";

    private static final String PREFIX = "java-liberty-";
    private static final String LOCK = "lock";

    private final Path path;

    /** Held here: a channel that nobody holds is closed, and its lock with it. */
    private final FileChannel lock;

    private WorkFolder(Path path) throws IOException {
        this.path = path;
        Path unlocked = path.resolve("unlocked");
        lock = FileChannel.open(unlocked, CREATE_NEW, WRITE);
        lock.lock();
        Files.move(unlocked, path.resolve(LOCK));  // nobody finds it before it is locked
    }

    /** A new folder with Liberty's configuration in it; those that killed processes left are removed. */
    static WorkFolder create(String variantFile) throws IOException {
        removeOrphans(Path.of(System.getProperty("java.io.tmpdir")));
        WorkFolder folder = new WorkFolder(Files.createTempDirectory(PREFIX));
        Path configuration = Files.createDirectories(folder.path.resolve("servers").resolve(SERVER));
        copy("server.xml", configuration.resolve("server.xml"));
        copy(variantFile, configuration.resolve("variant.xml"));
        return folder;
    }

    File file() {
        return path.toFile();
    }

    /** What Liberty has to say, if it came so far. */
    void printLog(PrintStream to) throws IOException {
        Path log = path.resolve(SERVER).resolve("logs").resolve("messages.log");
        if (Files.exists(log)) {
            Files.copy(log, to);
        }
    }

    void remove() {
        removeTree(path);
    }

    private static void copy(String resource, Path file) throws IOException {
        try (InputStream content = WorkFolder.class.getResourceAsStream("/" + resource)) {
            Files.copy(content, file);
        }
    }

    private static void removeOrphans(Path parent) throws IOException {
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, PREFIX + "*")) {
            for (Path folder : folders) {
                if (isOrphan(folder)) {
                    removeTree(folder);
                }
            }
        }
    }

    private static boolean isOrphan(Path folder) {
        try (FileChannel lock = FileChannel.open(folder.resolve(LOCK), WRITE)) {
            return lock.tryLock() != null;
        } catch (IOException notOurs) {
            return false;
        }
    }

    /** Where Liberty still writes, what it wrote stays for the next start, which knows the folder by its lock. */
    private static void removeTree(Path root) {
        File lock = root.resolve(LOCK).toFile();
        try (Stream<Path> tree = Files.walk(root)) {
            tree.sorted(Comparator.reverseOrder()).map(Path::toFile).filter(file -> !file.equals(lock))
                    .forEach(File::delete);
            if (root.toFile().list().length == 1) {
                Files.delete(lock.toPath());
                Files.delete(root);
            }
        } catch (IOException | UncheckedIOException changing) {
            return;
        }
    }
}
