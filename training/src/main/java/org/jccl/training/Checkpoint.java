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
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;

/**
 * The distributed tensors of a group, saved in a directory that all ranks share. Each rank writes
 * one safetensors file. The index {@code checkpoint.safetensors} contains no tensors and names the
 * files that belong together. A save writes it last, so the previous checkpoint survives if a
 * writer is killed. Only one save at a time may write to a directory, see {@link #save}.
 *
 * <p>Loading needs no group. Each process reads the parts that it needs, however many ranks saved
 * the checkpoint and however they divided its tensors. All data that is read is verified with a
 * checksum.
 *
 * <p>Immutable.
 */
public final class Checkpoint {

    private static final String INDEX = "checkpoint.safetensors";
    private static final String FILES = "jccl.files";
    static final String RESERVED = "jccl.";

    /** Prefix of a part's metadata: its first element and the shape of the whole tensor. */
    static final String PART = "jccl.part.";

    private final Path directory;

    /** Unique to this save. */
    private final String id;

    private final Map<String, String> metadata;
    private final Map<String, Stored> tensors;

    /** The file and position of a range of elements. */
    private record Part(SafetensorsFile file, long offset, long count) {}

    /** A tensor with its parts in order and without gaps. */
    private record Stored(String type, List<Long> shape, List<Part> parts) {

        String shownType() {
            DataType known = SafetensorsHeader.type(type);
            return known == null ? type : known.toString();
        }
    }

    private Checkpoint(
            Path directory, String id, Map<String, String> metadata, Map<String, Stored> tensors) {
        this.directory = directory;
        this.id = id;
        this.metadata = metadata;
        this.tensors = tensors;
    }

    /**
     * Saves the distributed tensors. All ranks of the group must call it, with the same replicated
     * shards. When the new checkpoint is complete, it replaces an existing one, whose files are
     * then deleted. A process that still reads those files gets an exception. Blocks until the new
     * checkpoint is on disk.
     *
     * <p>Rank 0 reads the headers of all files before it replaces a checkpoint, so a save that
     * cannot be {@linkplain #open opened} never replaces a good one. It opens the new checkpoint
     * before it deletes the files of the old one.
     *
     * <p>Before anything is written, the ranks compare a CRC-32C of each replicated shard. Each
     * rank reads all its replicated shards once for this. On the host this takes about 0.12 s of
     * one core per GiB; on a device it takes as long as a copy to the host.
     *
     * <p>A save owns its directory: rank 0 holds a file lock on {@code checkpoint.lock} until the
     * save ends. If another save into the directory is in progress, this save fails immediately on
     * all ranks and changes nothing there. The message names the owner: its process, host, job and
     * group, and the start time of its save. The operating system releases the lock when its
     * process ends, so a killed save does not block the next one, which deletes its files.
     * Successive saves are not compared: the last one remains.
     *
     * <p>On a shared file system, the lock is as reliable as that file system's locks. An NFS
     * server holds the lock of a lost host until its lease expires, 90 s by default; until then,
     * other saves fail. If the file system has no locks (a warning is logged) or its locks do not
     * reach other hosts, a second save takes over the directory, and the first one fails on all its
     * ranks before it writes its index. In that case a checkpoint can be lost only if the first
     * save pauses between this check and writing its index, and the second job saves again
     * meanwhile.
     *
     * @param group the group whose ranks save
     * @param directory a directory that all ranks see under this name; created if it does not exist
     * @param shards this rank's shards; each name at most once
     * @param metadata texts by name; only rank 0's are saved. Names that begin with {@code jccl.}
     *     are reserved
     * @throws UsageException if an argument is null, a name is repeated or reserved, or a text has
     *     half of a surrogate pair
     * @throws DifferentModelsException on all ranks, if replicated shards differ between ranks: in
     *     name, type, shape, order or elements. The message names the first that differs and its
     *     ranks, and nothing is written
     * @throws CheckpointException on all ranks, with the message of the first rank that failed.
     *     Reasons: a rank cannot write, rank 0 does not see another rank's file, the parts do not
     *     cover a tensor, or another save into the directory is in progress. The previous
     *     checkpoint remains, unless the message says that the index was written
     * @throws JcclException if a collective operation of the save fails
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
     * Returns whether a directory has a checkpoint. A damaged or incomplete checkpoint counts;
     * {@link #open} reports the damage. Hosts may see different states of a shared file system, so
     * ranks must compare the results and the progress of the checkpoints before they continue.
     *
     * @param directory a directory, which may not exist
     * @return false if no save into it has completed
     * @throws UsageException if the directory is null
     */
    public static boolean exists(Path directory) {
        if (directory == null) {
            throw new UsageException(FailureContext.NONE, "directory is null");
        }
        return Files.exists(directory.resolve(INDEX));
    }

    /**
     * Opens the checkpoint in a directory. Reads all headers but no elements.
     *
     * @param directory the directory of the checkpoint
     * @return the checkpoint
     * @throws UsageException if the directory is null
     * @throws CheckpointException if there is no checkpoint, a file is missing, truncated or
     *     damaged, or an element of a tensor is in no file or in more than one
     */
    public static Checkpoint open(Path directory) {
        if (directory == null) {
            throw new UsageException(FailureContext.NONE, "directory is null");
        }
        if (!Files.exists(directory.resolve(INDEX))) {
            throw bad(
                    directory,
                    Files.isDirectory(directory)
                            ? "this folder has no complete checkpoint; to read safetensors files"
                                    + " of other programs, use SafetensorsFile"
                            : "there is no such folder");
        }
        SafetensorsFile index = SafetensorsFile.open(directory.resolve(INDEX));
        Map<String, String> metadata = new LinkedHashMap<>(index.metadata());
        String files = metadata.remove(FILES);
        if (files == null || !files.matches("[0-9a-f]{16}-of-[1-9][0-9]{0,6}")) {
            throw bad(directory.resolve(INDEX), "it is not the index of a checkpoint");
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

    /** Returns the tensors of all files of a save. */
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
                                + " is lost, or in a directory of another host; all ranks must"
                                + " save to the same directory");
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
            Stored kind = new Stored(file.typeName(name), List.copyOf(shape), List.of());
            Stored before = kinds.putIfAbsent(name, kind);
            if (before != null && !before.equals(kind)) {
                throw bad(
                        path,
                        "tensor '"
                                + name
                                + "' is "
                                + kind.shownType()
                                + " of shape "
                                + kind.shape()
                                + "; in other files it is "
                                + before.shownType()
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
            // reported below
        }
        throw bad(path, "tensor '" + name + "' has a damaged description of its part: " + text);
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
     * Returns the names of the tensors.
     *
     * @return the names in the order of the files
     */
    public Set<String> names() {
        return Collections.unmodifiableSet(new LinkedHashSet<>(tensors.keySet()));
    }

    /**
     * Returns the saved metadata.
     *
     * @return the texts by name
     */
    public Map<String, String> metadata() {
        return metadata;
    }

    /**
     * Returns the type of a tensor.
     *
     * @param name the name of the tensor
     * @return the type of its elements
     * @throws UsageException if there is no such tensor, or JCCL has no such type
     */
    public DataType dataType(String name) {
        return stored(name).parts().get(0).file().dataType(name);
    }

    /**
     * Returns the shape of a tensor.
     *
     * @param name the name of the tensor
     * @return its sizes, the last one innermost
     * @throws UsageException if there is no such tensor
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
     * Reads parts of tensors, or whole ones, into the caller's tensors. All shards are checked
     * before anything is read.
     *
     * @param shards the parts to read, with the tensors to fill
     * @throws UsageException if an argument is null, there is no such tensor, or its type or shape
     *     differs
     * @throws CheckpointException if a file cannot be read or is damaged; the contents of the
     *     caller's tensors are then undefined
     */
    public void load(List<Shard> shards) {
        if (shards == null || new ArrayList<>(shards).contains(null)) {
            throw new UsageException(FailureContext.NONE, "shards, or one of them, is null");
        }
        List<Shard> wanted = List.copyOf(shards);
        for (Shard shard : wanted) {
            Stored stored = stored(shard.name());
            if (!stored.type().equals(SafetensorsHeader.name(shard.tensor().dataType()))
                    || !stored.shape().equals(shard.shape())) {
                throw new UsageException(
                        FailureContext.NONE,
                        "tensor '"
                                + shard.name()
                                + "' of "
                                + directory
                                + " is "
                                + stored.shownType()
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

    /**
     * Checks that all ranks opened the same save, because hosts may see different states of a
     * shared file system. Then reads as {@link #load(List)} does. All ranks must call it.
     *
     * @param group the group whose ranks load
     * @param shards this rank's parts
     * @throws DifferentModelsException if ranks opened different saves. All ranks throw it, and
     *     nothing is read
     * @throws UsageException as {@link #load(List)}, or if the group is null
     * @throws CheckpointException as {@link #load(List)}
     * @throws JcclException if the group has failed
     */
    public void load(ProcessGroup group, List<Shard> shards) {
        if (group == null) {
            throw new UsageException(FailureContext.NONE, "group is null");
        }
        requireSame(group, group.devices().get(0));
        load(shards);
    }

    void requireSame(ProcessGroup group, Device device) {
        ModelCheck.requireSame(
                group, device, List.of("checkpoint " + id), "all ranks must open the same save");
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

    /** Returns a description such as {@code checkpoint in /data/step-100 with 12 tensors}. */
    @Override
    public String toString() {
        return "checkpoint in " + directory + " with " + Counted.of(tensors.size(), "tensor");
    }
}
