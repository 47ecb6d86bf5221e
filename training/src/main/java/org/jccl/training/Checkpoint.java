package org.jccl.training;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;

/**
 * Tensors that the ranks of a group hold together, in a directory that all of them see: one
 * safetensors file a rank, and the file {@code checkpoint.safetensors}, which has no tensors but
 * tells which files belong together. It is written last, so a writer that is killed leaves the
 * checkpoint that was there before. One save at a time may write to a directory: see {@link #save}.
 *
 * <p>Loading needs no group: each process reads the parts that it wants, however many ranks there
 * were and however they had divided the tensors. Everything read is compared with its checksum.
 *
 * <p>Immutable.
 */
public final class Checkpoint {

    private static final String INDEX = "checkpoint.safetensors";
    private static final String FILES = "jccl.files";
    static final String RESERVED = "jccl.";

    /** Of a part: its first element, and the shape of the whole tensor. */
    static final String PART = "jccl.part.";

    private final Path directory;

    /** No other save has it. */
    private final String id;

    private final Map<String, String> metadata;
    private final Map<String, Stored> tensors;

    /** Where elements of a tensor are. */
    private record Part(SafetensorsFile file, long offset, long count) {}

    /** A tensor, its parts in order and without gaps. */
    private record Stored(DataType type, List<Long> shape, List<Part> parts) {}

    private Checkpoint(
            Path directory, String id, Map<String, String> metadata, Map<String, Stored> tensors) {
        this.directory = directory;
        this.id = id;
        this.metadata = metadata;
        this.tensors = tensors;
    }

    /**
     * Saves what the ranks hold together. All ranks of the group call it, with replicated shards
     * alike. A checkpoint that is there is replaced when the new one is complete, and its files are
     * deleted then; a process that still reads them gets an exception. Blocks until the new one is
     * on the disk.
     *
     * <p>Rank 0 reads the headers of all files before it replaces a checkpoint, so a save that can
     * not be {@linkplain #open opened} never takes the place of a good one. It opens the new
     * checkpoint before it deletes the files of the old one.
     *
     * <p>Before anything is written, the ranks compare a CRC-32C of each replicated shard, bit for
     * bit. Each rank reads all its replicated shards once for that: about 0.12 s of one core for 1
     * GiB on the host, and the time of a copy to the host for a device.
     *
     * <p>A save owns its directory: rank 0 holds a file lock on {@code checkpoint.lock} until the
     * save ends. If another save into the directory is in progress, by a group of any process, this
     * one fails at once on all ranks and changes nothing there. The message names the owner: its
     * process, host, job, group and the time at which its save began. The operating system releases
     * the lock when its process ends, so a save that was killed does not block the next one, which
     * deletes its files. Saves that follow each other are not compared: the last one remains.
     *
     * <p>On a file system that several hosts share, the lock is as good as that file system's. A
     * server of NFS holds the lock of a lost host until its lease ends, 90 s by default; a save is
     * refused until then. Where the file system has no locks (a warning is logged), or locks that
     * do not reach other hosts, a second save takes the directory over, and the first one fails on
     * all its ranks before it writes its index. Then a checkpoint can be lost only if the first
     * save stops between that check and its index until the second job saves once more.
     *
     * @param group whose ranks these are
     * @param directory seen by all ranks under this name; made when it is not there
     * @param shards what this rank has; each name at most once
     * @param metadata texts by name, of rank 0; names that begin with {@code jccl.} are taken
     * @throws UsageException when something is null, a name is given twice or taken, or a text has
     *     half of a surrogate pair
     * @throws DifferentModelsException on all ranks, when replicated shards differ between ranks:
     *     in name, type, shape, order, or elements; the message names the first that differs and
     *     its ranks, and nothing was written
     * @throws CheckpointException on all ranks, with the message of the first rank that failed: a
     *     rank can not write, rank 0 does not see what another one wrote, the parts are not all of
     *     a tensor, or another save into the directory is in progress. What was there before is
     *     still there, unless the message says that the index was written
     * @throws JcclException when the ranks can not agree
     */
    public static void save(
            ProcessGroup group, Path directory, List<Shard> shards, Map<String, String> metadata) {
        if (group == null || directory == null || shards == null || metadata == null) {
            throw new UsageException(
                    FailureContext.NONE, "group, directory, shards or metadata is null");
        }
        new CheckpointSave(group, directory, shards, metadata).run();
    }

    /**
     * Whether a directory has a checkpoint, for programs that begin anew where there is none. One
     * whose files are damaged or missing counts: {@link #open} says what is wrong with it. Hosts
     * may see different states of a file system that they share, so ranks compare the answers, and
     * how far the checkpoints had come, before they go on.
     *
     * @param directory that may not be there
     * @return false when no save into it has ended
     * @throws UsageException when the directory is null
     */
    public static boolean exists(Path directory) {
        if (directory == null) {
            throw new UsageException(FailureContext.NONE, "directory is null");
        }
        return Files.exists(directory.resolve(INDEX));
    }

    /**
     * Reads what a directory has: all headers, and no elements.
     *
     * @param directory of the checkpoint
     * @return the checkpoint
     * @throws UsageException when the directory is null
     * @throws CheckpointException when there is none, a file is missing, cut or damaged, or
     *     elements of a tensor are in none of them or in several
     */
    public static Checkpoint open(Path directory) {
        if (directory == null) {
            throw new UsageException(FailureContext.NONE, "directory is null");
        }
        SafetensorsFile index = SafetensorsFile.open(directory.resolve(INDEX));
        Map<String, String> metadata = new LinkedHashMap<>(index.metadata());
        String files = metadata.remove(FILES);
        if (files == null || !files.matches("[0-9a-f]{16}-of-[1-9][0-9]{0,6}")) {
            throw bad(directory.resolve(INDEX), "it names no files of a checkpoint");
        }
        String[] parts = files.split("-of-");
        Map<String, Stored> tensors = read(directory, parts[0], Integer.parseInt(parts[1]));
        return new Checkpoint(directory, parts[0], Collections.unmodifiableMap(metadata), tensors);
    }

    static String fileName(String id, int rank, int ranks) {
        return String.format(Locale.ROOT, "%s-%05d-of-%05d.safetensors", id, rank, ranks);
    }

    /** Writes the file that names the files of a save. */
    static void writeIndex(Path directory, String id, int ranks, Map<String, String> metadata) {
        Map<String, String> texts = new LinkedHashMap<>(metadata);
        texts.put(FILES, id + "-of-" + ranks);
        SafetensorsFile.write(directory.resolve(INDEX), List.of(), texts);
    }

    /** What the files of one save have together. */
    static Map<String, Stored> read(Path directory, String id, int ranks) {
        Map<String, List<Part>> found = new LinkedHashMap<>();
        Map<String, Stored> kinds = new LinkedHashMap<>();
        for (int rank = 0; rank < ranks; rank++) {
            Path path = directory.resolve(fileName(id, rank, ranks));
            if (!Files.exists(path)) {
                throw bad(
                        path,
                        "it is missing: the part of rank "
                                + rank
                                + " of "
                                + ranks
                                + " is lost, or in a directory of another host: all ranks must"
                                + " save to the same one");
            }
            collect(path, SafetensorsFile.open(path), kinds, found);
        }
        Map<String, Stored> tensors = new LinkedHashMap<>();
        kinds.forEach(
                (name, kind) ->
                        tensors.put(
                                name,
                                new Stored(
                                        kind.type(),
                                        kind.shape(),
                                        complete(directory, name, kind, found.get(name)))));
        return tensors;
    }

    private static void collect(
            Path path,
            SafetensorsFile file,
            Map<String, Stored> kinds,
            Map<String, List<Part>> found) {
        for (String name : file.names()) {
            long count = SafetensorsHeader.count(file.shape(name));
            List<Long> shape = file.shape(name);
            long offset = 0;
            String part = file.metadata().get(PART + name);
            if (part != null) {
                List<Long> numbers = numbers(path, name, part);
                offset = numbers.get(0);
                shape = numbers.subList(1, numbers.size());
            }
            Stored kind = new Stored(file.dataType(name), List.copyOf(shape), List.of());
            Stored before = kinds.putIfAbsent(name, kind);
            if (before != null && !before.equals(kind)) {
                throw bad(
                        path,
                        "tensor '"
                                + name
                                + "' is "
                                + kind.type()
                                + " of shape "
                                + kind.shape()
                                + ", in other files "
                                + before.type()
                                + " of shape "
                                + before.shape());
            }
            found.computeIfAbsent(name, any -> new ArrayList<>())
                    .add(new Part(file, offset, count));
        }
    }

    private static List<Long> numbers(Path path, String name, String text) {
        try {
            List<Long> numbers =
                    Arrays.stream(text.split(" ", -1)).map(Long::parseUnsignedLong).toList();
            SafetensorsHeader.count(numbers.subList(1, numbers.size()));
            if (numbers.get(0) >= 0) {
                return numbers;
            }
        } catch (NumberFormatException | ArithmeticException e) {
            // said below
        }
        throw bad(path, "tensor '" + name + "' is said to be part " + text);
    }

    private static List<Part> complete(Path directory, String name, Stored kind, List<Part> found) {
        List<Part> parts = new ArrayList<>(found);
        parts.sort(Comparator.comparingLong(Part::offset).thenComparingLong(Part::count));
        long next = 0;
        for (Part part : parts) {
            requireNext(directory, name, next, part.offset());
            next += part.count();
        }
        requireNext(directory, name, next, SafetensorsHeader.count(kind.shape()));
        return parts;
    }

    private static void requireNext(Path directory, String name, long next, long found) {
        if (next != found) {
            throw bad(
                    directory,
                    "elements "
                            + Math.min(next, found)
                            + " to "
                            + (Math.max(next, found) - 1)
                            + " of tensor '"
                            + name
                            + (next < found ? "' are in no file" : "' are in several files"));
        }
    }

    String id() {
        return id;
    }

    /**
     * Names of the tensors.
     *
     * @return in the order of the files
     */
    public Set<String> names() {
        return Collections.unmodifiableSet(new LinkedHashSet<>(tensors.keySet()));
    }

    /**
     * Texts that were saved.
     *
     * @return by name
     */
    public Map<String, String> metadata() {
        return metadata;
    }

    /**
     * Type of a tensor.
     *
     * @param name of the tensor
     * @return the type of its elements
     * @throws UsageException when there is no such tensor
     */
    public DataType dataType(String name) {
        return stored(name).type();
    }

    /**
     * Shape of a tensor.
     *
     * @param name of the tensor
     * @return its sizes, the last one innermost
     * @throws UsageException when there is no such tensor
     */
    public List<Long> shape(String name) {
        return stored(name).shape();
    }

    private Stored stored(String name) {
        Stored stored = name == null ? null : tensors.get(name);
        if (stored == null) {
            throw new UsageException(
                    FailureContext.NONE, "there is no tensor '" + name + "' in " + directory);
        }
        return stored;
    }

    /**
     * Reads parts of tensors, or all of them, into the caller's. Nothing is read before all of them
     * are known to be there.
     *
     * @param shards what to read where to
     * @throws UsageException when something is null, there is no such tensor, or it has another
     *     type or shape
     * @throws CheckpointException when a file can not be read or is damaged; what the tensors hold
     *     then means nothing
     */
    public void load(List<Shard> shards) {
        if (shards == null || new ArrayList<>(shards).contains(null)) {
            throw new UsageException(FailureContext.NONE, "shards, or one of them, is null");
        }
        List<Shard> wanted = List.copyOf(shards);
        for (Shard shard : wanted) {
            Stored stored = stored(shard.name());
            if (stored.type() != shard.tensor().dataType()
                    || !stored.shape().equals(shard.shape())) {
                throw new UsageException(
                        FailureContext.NONE,
                        "tensor '"
                                + shard.name()
                                + "' of "
                                + directory
                                + " is "
                                + stored.type()
                                + " of shape "
                                + stored.shape()
                                + ", not "
                                + shard.tensor().dataType()
                                + " of shape "
                                + shard.shape());
            }
        }
        wanted.forEach(this::load);
    }

    private void load(Shard shard) {
        long begin = shard.offset();
        long end = begin + shard.tensor().count();
        for (Part part : stored(shard.name()).parts()) {
            long from = Math.max(begin, part.offset());
            long to = Math.min(end, part.offset() + part.count());
            if (from < to) {
                part.file()
                        .read(
                                shard.name(),
                                from - part.offset(),
                                shard.tensor().slice(from - begin, to - from));
            }
        }
    }

    private static CheckpointException bad(Path path, String message) {
        return new CheckpointException(FailureContext.NONE, path + ": " + message);
    }

    /** For instance {@code checkpoint in /data/step-100 with 12 tensors}. */
    @Override
    public String toString() {
        return "checkpoint in " + directory + " with " + Counted.of(tensors.size(), "tensor");
    }
}
