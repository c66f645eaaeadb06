package zoo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.UserPrincipal;
import java.util.ArrayList;
import java.util.List;

/** As whom a database server runs: both refuse to run as root, so root starts them as another account. */
final class Account {
    private static final List<String> SUBSTITUTES = List.of("postgres", "mysql", "nobody");

    /** Null: our own account will do. */
    private final UserPrincipal other;

    private Account(UserPrincipal other) {
        this.other = other;
    }

    static Account find() throws IOException {
        if (!Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0)) {
            return new Account(null);
        }
        for (String name : SUBSTITUTES) {
            try {
                return new Account(Path.of("/").getFileSystem().getUserPrincipalLookupService()
                        .lookupPrincipalByName(name));
            } catch (IOException e) {
                continue; // no such account here
            }
        }
        throw new Refusal("a database does not run as root, and none of these accounts exists: " + SUBSTITUTES);
    }

    /** The command, run as this account. */
    List<String> command(List<String> words) {
        if (other == null) {
            return words;
        }
        List<String> all = new ArrayList<>(List.of(
                "setpriv", "--reuid=" + other.getName(), "--regid=" + group(), "--clear-groups", "--no-new-privs"));
        all.addAll(words);
        return all;
    }

    void own(Path... files) throws IOException {
        for (Path file : files) {
            if (other != null) {
                Files.setOwner(file, other);
            }
        }
    }

    /** Whether this account can get at a folder: a checkout in root's home is closed to others. */
    boolean reaches(Path folder) throws IOException {
        for (Path path = folder.toAbsolutePath(); other != null && path != null; path = path.getParent()) {
            if (!Files.getPosixFilePermissions(path).contains(PosixFilePermission.OTHERS_EXECUTE)) {
                return false;
            }
        }
        return true;
    }

    private String group() {
        try {
            Process id = new ProcessBuilder("id", "-g", other.getName()).start();
            return new String(id.getInputStream().readAllBytes()).strip();
        } catch (IOException e) {
            throw new Refusal("the group of the account " + other.getName() + " is unknown: " + e.getMessage(), e);
        }
    }
}
