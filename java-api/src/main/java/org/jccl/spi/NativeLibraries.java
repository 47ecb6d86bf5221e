package org.jccl.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.zip.CRC32;
import org.jccl.BackendUnavailableException;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Loads the native libraries that a binding carries in its jar.
 *
 * <p>They are written to {@code <cache>/<checksums of all of them>/}, so that another version does
 * not meet this one's files. A file appears there complete or not at all, and is compared with the
 * jar's before each use, so any number of JVMs may start at once on an empty cache. The cache is
 * the first that works of: the system property {@value #CACHE_PROPERTY}; {@code
 * $XDG_CACHE_HOME/jccl}; {@code ~/.cache/jccl}; {@code jccl-<number of the user>} in the directory
 * for temporary files. With the property set, the others are not tried.
 *
 * <p>A cache works only where nobody but this user and root could change what lies in it: every
 * directory on its path belongs to one of them, and others may not write there (but to those with
 * the sticky bit, as {@code /tmp} has it). Otherwise another user could exchange a library between
 * its comparison and its loading, and have this process run it.
 *
 * <p>Stateless and safe for use by several threads.
 */
public final class NativeLibraries {

    /** Names the directory to use instead of the user's cache. */
    public static final String CACHE_PROPERTY = "org.jccl.cache";

    /** Java keeps direct memory for the largest piece that a thread has read or written. */
    private static final int PIECE_BYTES = 8192;

    private NativeLibraries() {}

    /**
     * What this JVM runs on, in JavaCPP's words: {@code linux-x86_64}, {@code linux-arm64}. It is
     * the name of a folder in a binding's jar, and the classifier of the jar that serves one
     * platform.
     *
     * @return system and processor, whether or not anything is built for them
     */
    public static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT).replace(' ', '-');
        String processor = System.getProperty("os.arch");
        return "%s-%s"
                .formatted(
                        system,
                        switch (processor) {
                            case "amd64" -> "x86_64";
                            case "aarch64" -> "arm64";
                            default -> processor;
                        });
    }

    /**
     * Extracts libraries and loads them in the given order. Loading what this class loader has
     * loaded before changes nothing, but each call reads the jar and the files. A binding calls
     * this once and remembers that it succeeded.
     *
     * @param artifact the binding's, for instance {@code org.jccl:jccl-gloo}, for the message to
     *     whoever has a jar of another platform
     * @param resources where the files are, for instance {@code name ->
     *     Binding.class.getResourceAsStream(NativeLibraries.platform() + "/" + name)}; gives null
     *     for a missing one
     * @param names file names, each library after those it needs
     * @param loader is given the absolute path of each; pass {@code System::load} from the class
     *     that has the native methods, since a library belongs to the class loader of its caller
     * @return the directory they were loaded from
     * @throws BackendUnavailableException when a file is missing or no directory works; its message
     *     and its suppressed exceptions say what was tried
     */
    public static Path load(
            String artifact, Resources resources, List<String> names, Consumer<String> loader) {
        Map<String, byte[]> files = read(artifact, resources, names);
        String checksums = checksums(files);
        List<Exception> attempts = new ArrayList<>();
        for (Path cache : cacheDirectories(attempts)) {
            Path directory = cache.resolve(checksums);
            int loaded = 0;
            try {
                directory = PrivateDirectory.create(directory);
                extract(directory, files);
                for (String name : names) {
                    loader.accept(directory.resolve(name).toString());
                    loaded++;
                }
                return directory;
            } catch (IOException | UnsupportedOperationException e) {
                attempts.add(new IOException("cannot use " + directory + ": " + e, e));
            } catch (UnsatisfiedLinkError e) {
                String name = names.get(loaded);
                attempts.add(new IOException(explain(directory.resolve(name), e), e));
                if (loaded > 0) {
                    break; // a second copy of those already loaded would only confuse the linker
                }
            }
        }
        StringBuilder text = new StringBuilder("native libraries can not be loaded:");
        attempts.forEach(attempt -> text.append("\n  ").append(attempt.getMessage()));
        text.append("\nSet -D")
                .append(CACHE_PROPERTY)
                .append("=DIR to a directory that is writable, allows executable files, and that")
                .append(" others can not change.");
        BackendUnavailableException failure =
                new BackendUnavailableException(FailureContext.NONE, text.toString());
        attempts.forEach(failure::addSuppressed);
        throw failure;
    }

    /** Where the libraries come from. */
    @FunctionalInterface
    public interface Resources {

        /**
         * Opens a file.
         *
         * @param name its name
         * @return its content, closed by the caller, or null when there is none
         */
        InputStream open(String name);
    }

    private static Map<String, byte[]> read(
            String artifact, Resources resources, List<String> names) {
        Map<String, byte[]> files = new LinkedHashMap<>();
        for (String name : names) {
            try (InputStream in = resources.open(name)) {
                if (in == null) {
                    throw new BackendUnavailableException(
                            FailureContext.NONE,
                            "the jar has no %s for %s; use the artifact %s without a classifier, which serves all platforms, or with the classifier %s"
                                    .formatted(name, platform(), artifact, platform()));
                }
                files.put(name, in.readAllBytes());
            } catch (IOException e) {
                throw new BackendUnavailableException(
                        FailureContext.NONE, "cannot read " + name + " from the jar", e);
            }
        }
        return files;
    }

    /**
     * A name, and no proof of what is there: every file is compared. A digest that withstands
     * people takes a tenth of a second in a JVM that has just started.
     */
    private static String checksums(Map<String, byte[]> files) {
        StringBuilder text = new StringBuilder();
        files.forEach(
                (name, content) -> {
                    CRC32 sum = new CRC32();
                    sum.update((name + "\n" + content.length + "\n").getBytes(UTF_8));
                    sum.update(content);
                    text.append(HexFormat.of().toHexDigits((int) sum.getValue()));
                });
        return text.toString();
    }

    /**
     * Where libraries are written to. A directory that this process can not represent as a path is
     * left out: with {@code LC_ALL=C}, one whose name has other characters than ASCII.
     *
     * @return in the order in which they are tried; the first that works is used. Empty if none is
     *     left
     */
    public static Set<Path> cacheDirectories() {
        return cacheDirectories(new ArrayList<>());
    }

    /**
     * Where libraries are written to.
     *
     * @param refused is added the reasons why directories were left out
     */
    private static Set<Path> cacheDirectories(List<Exception> refused) {
        Set<Path> caches = new LinkedHashSet<>();
        String chosen = System.getProperty(CACHE_PROPERTY);
        if (chosen != null && !chosen.isEmpty()) {
            add(caches, refused, "system property " + CACHE_PROPERTY, chosen);
            return caches;
        }
        String xdg = System.getenv("XDG_CACHE_HOME");
        if (xdg != null && !xdg.isEmpty()) {
            add(caches, refused, "environment variable XDG_CACHE_HOME", xdg, "jccl");
        }
        addProperty(caches, refused, "user.home", ".cache", "jccl");
        addProperty(caches, refused, "java.io.tmpdir", "jccl-" + user());
        return caches;
    }

    private static void addProperty(
            Set<Path> caches, List<Exception> refused, String property, String... below) {
        String value = System.getProperty(property);
        add(caches, refused, "system property " + property, value, below);
    }

    private static void add(
            Set<Path> caches,
            List<Exception> refused,
            String setting,
            String value,
            String... below) {
        try {
            caches.add(PathSetting.of(setting, value, below));
        } catch (UsageException e) {
            refused.add(e);
        }
    }

    /** A number, since users without a name are all called "?". */
    private static String user() {
        try {
            return Integer.toUnsignedString(PrivateDirectory.ownUser());
        } catch (IOException e) {
            return System.getProperty("user.name");
        }
    }

    /**
     * Has another loader of native libraries unpack them where nobody else can exchange them. Left
     * alone, some take a directory whose name is easily guessed, made by whomever, when the home
     * directory is not writable. Call it before that loader's first class. A property that the
     * program has set stays.
     *
     * @param property names the other loader's directory
     * @param usual what it uses by itself and may go on using where it is safe; empty to have it
     *     use a directory in this class's cache in any case
     * @throws BackendUnavailableException when no directory is safe; its message says why
     */
    public static void unpackPrivately(String property, Optional<Path> usual) {
        if (System.getProperty(property) != null) {
            return;
        }
        List<Path> candidates = new ArrayList<>();
        List<Exception> refused = new ArrayList<>();
        usual.ifPresent(candidates::add);
        cacheDirectories(refused).forEach(cache -> candidates.add(cache.resolve(property)));
        StringBuilder text = new StringBuilder("no directory is safe for native libraries:");
        refused.forEach(each -> text.append("\n  ").append(each.getMessage()));
        for (Path candidate : candidates) {
            try {
                System.setProperty(property, PrivateDirectory.create(candidate).toString());
                return;
            } catch (IOException | UnsupportedOperationException e) {
                text.append("\n  ").append(candidate).append(": ").append(e);
            }
        }
        text.append("\nSet -D")
                .append(property)
                .append("=DIR to a directory that others can not change.");
        throw new BackendUnavailableException(FailureContext.NONE, text.toString());
    }

    private static void extract(Path directory, Map<String, byte[]> files) throws IOException {
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            Path target = directory.resolve(file.getKey());
            if (!isIntact(target, file.getValue())) {
                write(target, file.getValue());
            }
        }
    }

    private static boolean isIntact(Path target, byte[] content) throws IOException {
        if (!PrivateDirectory.isOwnFile(target) || Files.size(target) != content.length) {
            return false;
        }
        byte[] piece = new byte[PIECE_BYTES];
        try (InputStream in = Files.newInputStream(target)) {
            for (int at = 0; at < content.length; at += PIECE_BYTES) {
                int end = Math.min(at + PIECE_BYTES, content.length);
                int read = in.readNBytes(piece, 0, end - at);
                if (!Arrays.equals(piece, 0, read, content, at, end)) {
                    return false;
                }
            }
        }
        return true;
    }

    private static void write(Path target, byte[] content) throws IOException {
        Path temporary = target.resolveSibling(target.getFileName() + "." + UUID.randomUUID());
        try {
            try (FileChannel out =
                    FileChannel.open(
                            temporary,
                            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                            PosixFilePermissions.asFileAttribute(
                                    PosixFilePermissions.fromString("rw-------")))) {
                for (int at = 0; at < content.length; ) {
                    int length = Math.min(PIECE_BYTES, content.length - at);
                    at += out.write(ByteBuffer.wrap(content, at, length));
                }
                out.force(true);
            }
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(temporary);
        }
    }

    private static String explain(Path library, UnsatisfiedLinkError error) {
        String text = "cannot load " + library + ": " + error.getMessage();
        return text.contains("failed to map segment")
                ? text + " (its file system does not allow executable files: noexec)"
                : text;
    }
}
