package org.jccl.spi.support;

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
import org.jccl.spi.PathSetting;

/**
 * Loads the native libraries in the jar of a binding.
 *
 * <p>They are written to {@code <cache>/<checksums of all>/}, so that versions do not share files.
 * A file appears there complete or not at all, and is compared with the jar before each use. So any
 * number of JVMs may start at the same time with an empty cache. The cache is the first of these
 * that works: the system property {@value #CACHE_PROPERTY}; {@code $XDG_CACHE_HOME/jccl}; {@code
 * ~/.cache/jccl}; {@code jccl-<user id>} in the directory for temporary files. If the property is
 * set, the others are not tried.
 *
 * <p>A cache is usable only if no user except this one and root can change its content. Every
 * directory on its path must belong to one of them, and other users must not have write permission,
 * except to directories with the sticky bit such as {@code /tmp}. Otherwise another user could
 * replace a library after it was compared and before it is loaded. If others may write to all of
 * them, as in volumes of Kubernetes, a library is loaded from a file without a name.
 *
 * <p>Java loads a file for one class loader only. For each further one, a copy of the file is
 * loaded and deleted.
 *
 * <p>Stateless and thread-safe.
 */
public final class NativeLibraries {

    /** The system property that names the directory to use instead of the cache of the user. */
    public static final String CACHE_PROPERTY = "org.jccl.cache";

    /** Of the JDK's message. */
    private static final String OF_ANOTHER_CLASS_LOADER = "already loaded in another classloader";

    /** The JDK retains direct memory for the largest piece that a thread has read or written. */
    static final int PIECE_BYTES = 8192;

    private NativeLibraries() {}

    /**
     * Returns the platform of this JVM in JavaCPP's terms: {@code linux-x86_64}, {@code
     * linux-arm64}. It is a folder in the jar of a binding, and the classifier of the jar for that
     * platform.
     *
     * @return system and processor, even if no library is built for them
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
     * Extracts libraries and loads them in the given order. Loading a library again has no effect,
     * but each call reads the jar and the files, so a binding calls this once.
     *
     * @param artifact the artifact of the binding, for instance {@code org.jccl:jccl-gloo}, for the
     *     message to a user who has a jar of another platform
     * @param resources opens a file of the jar, for instance {@code name ->
     *     Binding.class.getResourceAsStream(NativeLibraries.platform() + "/" + name)}
     * @param names file names, each library after those it needs
     * @param loader loads an absolute path; pass {@code System::load} from the class with the
     *     native methods, since a library belongs to the class loader of its caller
     * @return the directory from which they were loaded
     * @throws BackendUnavailableException if a file is missing or no directory works; the message
     *     and the suppressed exceptions say what was tried
     */
    public static Path load(
            String artifact, Resources resources, List<String> names, Consumer<String> loader) {
        Map<String, byte[]> files = read(artifact, resources, names);
        Linker linker = new Linker(artifact, files, loader);
        List<Exception> attempts = linker.failures;
        Set<Path> shared = new LinkedHashSet<>();
        for (Path cache : cacheDirectories(attempts)) {
            Path directory = cache.resolve(checksums(files));
            try {
                Path own = PrivateDirectory.create(directory);
                extract(own, files);
                if (linker.link(name -> linker.loadOrCopy(own.resolve(name)))) {
                    return own;
                }
            } catch (IOException | UnsupportedOperationException e) {
                attempts.add(new IOException("cannot use " + directory + ": " + e, e));
                if (e instanceof PrivateDirectory.SharedException others) {
                    shared.add(others.existing);
                }
            }
        }
        for (Path directory : shared) {
            try {
                if (linker.link(name -> linker.loadNameless(directory, name))) {
                    return directory;
                }
            } catch (IOException e) {
                attempts.add(
                        new IOException(
                                "cannot use a file without a name in " + directory + ": " + e, e));
            }
        }
        StringBuilder text = new StringBuilder("native libraries cannot be loaded:");
        attempts.forEach(attempt -> text.append("\n  ").append(attempt.getMessage()));
        text.append("\nSet -D")
                .append(CACHE_PROPERTY)
                .append("=DIR to a directory that is writable, allows executable files, and that")
                .append(" other users cannot write to.");
        BackendUnavailableException failure =
                new BackendUnavailableException(FailureContext.NONE, text.toString());
        attempts.forEach(failure::addSuppressed);
        throw failure;
    }

    /** Opens the files of a jar. */
    @FunctionalInterface
    public interface Resources {

        /**
         * Opens a file.
         *
         * @param name its name
         * @return the content, closed by the caller, or null if there is no such file
         */
        InputStream open(String name);
    }

    /** Hands the libraries of one jar to the JVM, and explains its refusals. */
    private static final class Linker {

        private final String artifact;
        private final Map<String, byte[]> files;
        private final Consumer<String> loader;
        private final List<Exception> failures = new ArrayList<>();

        Linker(String artifact, Map<String, byte[]> files, Consumer<String> loader) {
            this.artifact = artifact;
            this.files = files;
            this.loader = loader;
        }

        /** Loads one library. */
        @FunctionalInterface
        private interface Step {
            void load(String name) throws IOException;
        }

        /**
         * Loads all libraries.
         *
         * @return false if the JVM refused the first one; {@link #failures} then says why
         * @throws BackendUnavailableException if another directory cannot help
         */
        boolean link(Step step) throws IOException {
            int loaded = 0;
            try {
                for (String name : files.keySet()) {
                    step.load(name);
                    loaded++;
                }
                return true;
            } catch (IllegalCallerException e) {
                throw new BackendUnavailableException(
                        FailureContext.NONE, artifact + ": " + LibrarySearch.ACCESS_DENIED, e);
            } catch (UnsatisfiedLinkError e) {
                failures.add(new IOException(explain(e), e));
                if (loaded > 0) {
                    // The linker must not see a second copy of those already loaded.
                    throw new BackendUnavailableException(FailureContext.NONE, explain(e), e);
                }
                return false;
            }
        }

        void loadOrCopy(Path file) throws IOException {
            try {
                loader.accept(file.toString());
            } catch (UnsatisfiedLinkError e) {
                if (!e.getMessage().contains(OF_ANOTHER_CLASS_LOADER)) {
                    throw e;
                }
                loadCopy(file);
            }
        }

        /** Neither the JVM nor the linker takes a new file for one that it has loaded. */
        private void loadCopy(Path file) throws IOException {
            Path name = file.getFileName();
            Path directory =
                    PrivateDirectory.create(file.resolveSibling(UUID.randomUUID().toString()));
            Path copy = directory.resolve(name);
            try {
                write(copy, files.get(name.toString()));
                loader.accept(copy.toString());
            } finally {
                Files.deleteIfExists(copy);
                Files.delete(directory);
            }
        }

        void loadNameless(Path directory, String name) throws IOException {
            loader.accept(NamelessFile.write(directory, name, files.get(name)).toString());
        }
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
     * Returns a directory name. It need not be secure, since every file is compared. A
     * cryptographic digest would take 0.1 s in a new JVM.
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
     * Returns the directories to which libraries may be written. Paths that this process cannot
     * represent are excluded, for instance non-ASCII names with {@code LC_ALL=C}.
     *
     * @return in the order in which they are tried; the first that works is used. May be empty
     */
    public static Set<Path> cacheDirectories() {
        return cacheDirectories(new ArrayList<>());
    }

    /**
     * Returns the directories to which libraries may be written.
     *
     * @param refused gets the reasons why directories were excluded
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

    /** Returns the user id, because all users without a name are called "?". */
    private static String user() {
        try {
            return Integer.toUnsignedString(PrivateDirectory.ownUser());
        } catch (IOException e) {
            return System.getProperty("user.name");
        }
    }

    /**
     * Makes another loader of native libraries unpack them where no other user can replace them. If
     * the home directory is not writable, some loaders use a directory with a predictable name,
     * which another user may have created. Must be called before the first use of that loader. A
     * property that the program has set is not changed.
     *
     * @param property the property that names the directory of the other loader
     * @param usual the directory that it uses by default, which is kept if it is safe; empty to use
     *     a directory in the cache of this class in any case
     * @throws BackendUnavailableException if no directory is safe; the message says why
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
                .append("=DIR to a directory that other users cannot write to.");
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

    private static String explain(UnsatisfiedLinkError error) {
        String text = "cannot load " + error.getMessage(); // which begins with the path
        return text.contains("failed to map segment")
                ? text + " (its file system does not allow executable files: noexec)"
                : text;
    }
}
