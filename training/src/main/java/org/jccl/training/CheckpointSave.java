package org.jccl.training;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;

/**
 * One save of a {@link Checkpoint}: each rank writes its file; rank 0 locks the directory, writes
 * the index, opens the new checkpoint, and deletes the files of other saves.
 */
final class CheckpointSave {

    /**
     * Files of saves, and temporary files of the index and the owner that a killed process left.
     */
    private static final String OF_SAVES =
            "[0-9a-f]{16}-\\d+-of-\\d+\\.safetensors(\\..*)?|checkpoint\\..*\\.tmp";

    /** The result of a rank in a step: it failed, or it failed without a message. */
    private static final int FAILED = 1;

    private static final int FAILED_SILENTLY = 2;

    private final ProcessGroup group;
    private final Device device;
    private final Path directory;
    private final List<Shard> shards;
    private final Map<String, String> metadata;

    /** The shards that this rank writes, and the checksums of the replicated ones. */
    private List<Shard> own;

    private ReplicaCheck replicas;

    /** Why {@link #snapshot} could not read the tensors, or null. */
    private Throwable unreadable;

    /** On rank 0, once it holds the lock. */
    private CheckpointLock lock;

    CheckpointSave(
            ProcessGroup group, Path directory, List<Shard> shards, Map<String, String> metadata) {
        this.group = group;
        this.device = group.devices().get(0);
        this.directory = directory;
        this.shards = shards;
        this.metadata = metadata;
    }

    void run() {
        ModelCheck.requireSame(
                group,
                device,
                replicatedLines(shards),
                "all ranks must save the same replicated tensors");
        together(
                "read its tensors",
                () -> {
                    if (unreadable instanceof Error error) {
                        throw error;
                    }
                    if (unreadable != null) {
                        throw (RuntimeException) unreadable;
                    }
                    if (own == null) {
                        read();
                    }
                });
        replicas.requireSame(group, device);
        String id = agreeOnId();
        try {
            together("lock the directory", () -> lock(id));
            writeParts(id);
            together("write the index", () -> writeIndex(id));
            if (lock != null) {
                deleteOthers(id);
            }
        } finally {
            if (lock != null) {
                lock.close();
            }
        }
    }

    private void read() throws IOException {
        List<Shard> checked = checked();
        replicas = new ReplicaCheck(checked);
        own = own(checked);
    }

    /**
     * Copies this rank's shards, so that the program may change its tensors before {@link #run}. A
     * failure counts as a failure of the save, so that all ranks throw it.
     */
    void snapshot(HostCopies memory) {
        try {
            read();
            own = memory.of(own);
        } catch (IOException e) {
            unreadable = new CheckpointException(context(), "cannot read its tensors: " + e, e);
        } catch (RuntimeException | Error e) {
            unreadable = e;
        }
    }

    private void lock(String id) throws IOException {
        if (group.rank() == 0) {
            SafetensorsFile.createFolders(directory);
            lock = CheckpointLock.take(directory, id, group);
        }
    }

    private void writeParts(String id) {
        Path file = directory.resolve(Checkpoint.fileName(id, group.rank(), group.size()));
        try {
            together(
                    "write its part",
                    () -> {
                        checkTexts();
                        SafetensorsFile.createFolders(directory);
                        SafetensorsFile.write(file, named(own), partTexts(own));
                    });
            together(
                    "read the parts",
                    () -> {
                        if (lock != null) {
                            Checkpoint.read(directory, id, group.size());
                            lock.requireOwn();
                        }
                    });
        } catch (CheckpointException | UsageException e) {
            // All ranks know that this save failed. After any other failure, and once the index
            // is being written, the save may be complete on disk: the next save cleans up.
            file.toFile().delete();
            throw e;
        }
    }

    private void writeIndex(String id) throws IOException {
        if (lock != null) {
            lock.requireOwn();
            Checkpoint.writeIndex(directory, id, group.size(), metadata);
            try {
                if (!Checkpoint.open(directory).id().equals(id)) {
                    lock.requireOwn();
                    throw new IOException("the index names another save");
                }
            } catch (CheckpointException | IOException e) {
                throw new CheckpointException(
                        context(),
                        "the index was written, but this save cannot be opened: " + e.getMessage(),
                        e);
            }
        }
    }

    private static List<String> replicatedLines(List<Shard> shards) {
        List<String> lines = new ArrayList<>();
        for (Shard shard : shards) {
            if (shard != null && shard.replicated()) {
                String name = shard.name().replace('\n', ' ');
                // Without the device: each rank may have its own.
                lines.add(
                        "replicated tensor '"
                                + name
                                + "' ("
                                + shard.tensor().dataType()
                                + " "
                                + shard.shape()
                                + ")");
            }
        }
        return lines;
    }

    /** The local part of a step. */
    private interface Write {
        void run() throws IOException;
    }

    /** Runs a step on all ranks. If it fails on one, it fails on all with that rank's message. */
    private void together(String what, Write write) {
        RuntimeException failure = null;
        Error error = null; // for example an OutOfMemoryError on this rank only
        try {
            write.run();
        } catch (IOException e) {
            failure = new CheckpointException(context(), "cannot " + what + ": " + e, e);
        } catch (RuntimeException e) {
            failure = e;
        } catch (Error e) {
            error = e;
        }
        int state = error != null ? FAILED_SILENTLY : failure != null ? FAILED : 0;
        int[] states = ModelCheck.gather(group, device, new int[] {state});
        int rank = 0;
        while (rank < states.length && states[rank] == 0) {
            rank++;
        }
        String message = "see the exception on that rank";
        if (rank < states.length && states[rank] == FAILED) {
            String own = failure == null ? "" : message(failure);
            message = ModelCheck.broadcast(group, device, own, rank);
        }
        if (failure != null) {
            throw failure;
        }
        if (error != null) {
            throw error;
        }
        if (rank < states.length) {
            throw new CheckpointException(
                    context(), "rank " + rank + " could not " + what + ": " + message);
        }
    }

    private static String message(RuntimeException failure) {
        return failure.getMessage() == null ? failure.toString() : failure.getMessage();
    }

    private String agreeOnId() {
        UUID random = UUID.randomUUID();
        long bits = random.getLeastSignificantBits() ^ random.getMostSignificantBits();
        int[] words = {(int) (bits >>> Integer.SIZE), (int) bits};
        words = ModelCheck.broadcast(group, device, words, 0);
        return String.format("%08x%08x", words[0], words[1]);
    }

    private List<Shard> checked() {
        List<Shard> copy = new ArrayList<>(shards);
        Set<String> names = new HashSet<>();
        for (Shard shard : copy) {
            if (shard == null || !names.add(shard.name())) {
                throw new UsageException(
                        context(),
                        shard == null
                                ? "a shard is null"
                                : "tensor '" + shard.name() + "' appears twice");
            }
        }
        return copy;
    }

    private void checkTexts() {
        for (Map.Entry<String, String> text : metadata.entrySet()) {
            if (text.getKey() == null
                    || text.getValue() == null
                    || text.getKey().startsWith(Checkpoint.RESERVED)
                    || !Shapes.isText(text.getKey())
                    || !Shapes.isText(text.getValue())) {
                throw new UsageException(
                        FailureContext.NONE, "metadata " + text + " is reserved or not valid text");
            }
        }
    }

    /** Returns this rank's parts, and its share of the replicated tensors. */
    private List<Shard> own(List<Shard> checked) {
        List<Shard> replicated = new ArrayList<>();
        List<Shard> written = new ArrayList<>();
        checked.forEach(shard -> (shard.replicated() ? replicated : written).add(shard));
        replicated.sort(
                Comparator.comparingLong((Shard shard) -> shard.tensor().byteSize())
                        .reversed()
                        .thenComparing(Shard::name));
        long[] bytes = new long[group.size()];
        for (Shard shard : replicated) {
            int least = 0;
            for (int rank = 1; rank < bytes.length; rank++) {
                least = bytes[rank] < bytes[least] ? rank : least;
            }
            bytes[least] += Math.max(1, shard.tensor().byteSize());
            if (least == group.rank()) {
                written.add(shard);
            }
        }
        return written;
    }

    private static boolean isWhole(Shard shard) {
        return shard.tensor().count() == SafetensorsHeader.count(shard.shape());
    }

    private static List<NamedTensor> named(List<Shard> shards) {
        List<NamedTensor> named = new ArrayList<>();
        for (Shard shard : shards) {
            List<Long> shape = isWhole(shard) ? shard.shape() : List.of(shard.tensor().count());
            named.add(new NamedTensor(shard.name(), shape, shard.tensor()));
        }
        return named;
    }

    private static Map<String, String> partTexts(List<Shard> shards) {
        Map<String, String> texts = new LinkedHashMap<>();
        for (Shard shard : shards) {
            if (!isWhole(shard)) {
                List<String> words = new ArrayList<>();
                words.add(Long.toString(shard.offset()));
                shard.shape().forEach(size -> words.add(size.toString()));
                texts.put(Checkpoint.PART + shard.name(), String.join(" ", words));
            }
        }
        return texts;
    }

    /** Deletes the files of other saves: of the previous one, and of unfinished ones. */
    private void deleteOthers(String id) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            lock.requireOwn();
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (name.matches(OF_SAVES) && !name.startsWith(id) && !lock.retains(name)) {
                    Files.deleteIfExists(file);
                }
            }
        } catch (IOException | DirectoryIteratorException | CheckpointException e) {
            // The files only occupy disk space, and the next save tries again.
        }
    }

    private FailureContext context() {
        return FailureContext.ofGroup(group.name(), group.rank());
    }
}
