package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class CheckpointTest {

    private static final int LARGE = 700_001;

    @TempDir private Path directory;

    private static float value(int i) {
        return i % 1000 * 0.5f;
    }

    private static Tensor range(int from, int to) {
        float[] values = new float[to - from];
        for (int i = 0; i < values.length; i++) {
            values[i] = value(from + i);
        }
        return TestRanks.floats(values);
    }

    private static int part(int rank, int ranks) {
        return (int) ((long) LARGE * rank / ranks);
    }

    private static void save(ProcessGroup group, Path where, int step) {
        int from = part(group.rank(), group.size());
        int to = part(group.rank() + 1, group.size());
        Checkpoint.save(
                group,
                where,
                List.of(
                        Shard.part("moments", from, range(from, to), LARGE),
                        Shard.replicated("weight", range(0, 6), 2, 3),
                        Shard.replicated("bias", range(step, step + 2), 2),
                        Shard.replicated("scale", range(7, 8))),
                Map.of("step", Integer.toString(step)));
    }

    private static List<Path> files(Path where) {
        try (Stream<Path> files = Files.list(where)) {
            return files.sorted(Comparator.comparing(Path::toString)).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aProgramCanAskWhetherThereIsOne() {
        Path where = directory.resolve("later");
        assertThat(Checkpoint.exists(where)).isFalse();
        TestRanks.onCpu(2, group -> save(group, where, 1));
        assertThat(Checkpoint.exists(where)).isTrue();
        assertThatThrownBy(() -> Checkpoint.exists(null)).isInstanceOf(UsageException.class);
    }

    @Test
    void ranksThatOpenedDifferentSavesAreRefused(@TempDir Path other) {
        TestRanks.onCpu(2, group -> save(group, directory, 1));
        TestRanks.onCpu(2, group -> save(group, other, 2));
        TestRanks.onCpu(
                2,
                group -> {
                    Tensor bias = TestRanks.filled(2, -1);
                    List<Shard> shards = List.of(Shard.replicated("bias", bias, 2));
                    Checkpoint own = Checkpoint.open(group.rank() == 0 ? directory : other);
                    assertThatThrownBy(() -> own.load(group, shards))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("all ranks must open the same save");
                    assertThat(TestRanks.values(bias)).containsOnly(-1);
                    Checkpoint.open(other).load(group, shards);
                    assertThat(TestRanks.values(bias)).isEqualTo(TestRanks.values(range(2, 4)));
                    assertThatThrownBy(() -> own.load(null, shards))
                            .isInstanceOf(UsageException.class);
                });
    }

    /** Aborts a group when it is read for the second time, which is when the index is written. */
    private static final class AbortingMap extends AbstractMap<String, String> {
        private final Supplier<ProcessGroup> group;
        private int read;

        AbortingMap(Supplier<ProcessGroup> group) {
            this.group = group;
        }

        @Override
        public Set<Map.Entry<String, String>> entrySet() {
            if (++read == 2) {
                group.get().abort();
            }
            return Map.of("step", "2").entrySet();
        }
    }

    @Test
    void aRankThatIsLostWhileTheIndexIsWrittenLeavesACheckpoint() {
        TestRanks.onCpu(2, group -> save(group, directory, 1));
        AtomicReference<ProcessGroup> lost = new AtomicReference<>();
        TestRanks.onCpu(
                2,
                group -> {
                    if (group.rank() == 1) {
                        lost.set(group);
                    }
                    group.sync().barrier();
                    Map<String, String> metadata =
                            group.rank() == 0 ? new AbortingMap(lost::get) : Map.of();
                    List<Shard> shards = List.of(Shard.replicated("bias", range(5, 7), 2));
                    Throwable failure =
                            catchThrowable(
                                    () -> Checkpoint.save(group, directory, shards, metadata));
                    // Rank 1 may have told rank 0 before that its part is there.
                    if (group.rank() == 1 || failure != null) {
                        assertThat(failure).isInstanceOf(JcclException.class);
                    }
                });
        Checkpoint checkpoint = Checkpoint.open(directory);
        Tensor bias = TestRanks.filled(2, -1);
        checkpoint.load(List.of(Shard.replicated("bias", bias, 2)));
        boolean replaced = checkpoint.metadata().equals(Map.of("step", "2"));
        assertThat(TestRanks.values(bias))
                .isEqualTo(TestRanks.values(replaced ? range(5, 7) : range(1, 3)));
        assertThat(replaced).isTrue();
    }

    /** Runs an action when rank 0 reads it for the first time, or when it writes the index. */
    private static final class ActingMap extends AbstractMap<String, String> {
        private final int when;
        private final Action action;
        private int read;

        ActingMap(int when, Action action) {
            this.when = when;
            this.action = action;
        }

        interface Action {
            void run() throws IOException;
        }

        @Override
        public Set<Map.Entry<String, String>> entrySet() {
            if (++read == when) {
                try {
                    action.run();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            return Map.of("step", "2").entrySet();
        }
    }

    private void saveFails(int when, ActingMap.Action action, String words) {
        TestRanks.onCpu(
                2,
                group -> {
                    Map<String, String> metadata =
                            group.rank() == 0 ? new ActingMap(when, action) : Map.of();
                    assertThatThrownBy(
                                    () ->
                                            Checkpoint.save(
                                                    group,
                                                    directory,
                                                    ofX(2 * group.rank(), 4),
                                                    metadata))
                            .isInstanceOf(CheckpointException.class)
                            .hasMessageContaining(words);
                });
    }

    private Path unfinished(String host) throws IOException {
        Files.writeString(
                directory.resolve("checkpoint.owner"),
                "0123456789abcdef\n" + host + "\n" + Integer.MAX_VALUE + "\nthe job before");
        return Files.writeString(
                directory.resolve("0123456789abcdef-00000-of-00001.safetensors"), "half of it");
    }

    /** As where file locks do not reach other hosts. */
    @Test
    void aSaveThatAnotherHostHasTakenOverFailsAndChangesNothing() throws IOException {
        TestRanks.onCpu(2, group -> save(group, directory, 1));
        List<Path> before = files(directory);
        saveFails(1, () -> Files.delete(unfinished("elsewhere")), "taken over " + directory + ": ");
        saveFails(1, () -> Files.delete(unfinished("elsewhere")), "the job before");
        saveFails(
                1,
                () -> Files.delete(directory.resolve("checkpoint.owner")),
                ": a process that has ended");
        Files.deleteIfExists(directory.resolve("checkpoint.owner"));
        assertThat(files(directory)).isEqualTo(before);
        assertThat(Checkpoint.open(directory).metadata()).containsEntry("step", "1");
    }

    /** It may still be in progress where file locks do not reach other hosts. */
    @Test
    void filesOfAnUnfinishedSaveStayForOneSaveIfItsHostIsAnother() throws IOException {
        Path file = unfinished("elsewhere");
        TestRanks.onCpu(1, group -> save(group, directory, 1));
        assertThat(file).exists();
        TestRanks.onCpu(1, group -> save(group, directory, 2));
        assertThat(files(directory)).hasSize(3);
        unfinished(Files.readString(Path.of("/proc/sys/kernel/hostname")).strip());
        TestRanks.onCpu(1, group -> save(group, directory, 3));
        assertThat(files(directory)).hasSize(3);
    }

    /** Another program deletes a file after it was read, and before the index names it. */
    @Test
    void aSaveThatCanNotBeOpenedAfterItFailsOnAllRanksAndKeepsTheOldFiles() {
        TestRanks.onCpu(2, group -> save(group, directory, 1));
        List<Path> before = files(directory);
        saveFails(
                2,
                () -> {
                    for (Path file : files(directory)) {
                        if (!before.contains(file)) {
                            Files.deleteIfExists(file);
                        }
                    }
                },
                "the index was written, but this save cannot be opened");
        assertThat(files(directory)).containsAll(before);
        TestRanks.onCpu(2, group -> save(group, directory, 3));
        assertThat(Checkpoint.open(directory).metadata()).containsEntry("step", "3");
    }

    @Test
    void anotherNumberOfRanksLoadsIt() {
        for (int ranks : new int[] {3, 1}) {
            TestRanks.onCpu(ranks, group -> save(group, directory, 10 + ranks));
            for (int readers : new int[] {1, 2, 5}) {
                for (int rank = 0; rank < readers; rank++) {
                    Checkpoint checkpoint = Checkpoint.open(directory);
                    assertThat(checkpoint.names())
                            .containsExactlyInAnyOrder("moments", "weight", "bias", "scale");
                    assertThat(checkpoint.metadata())
                            .isEqualTo(Map.of("step", Integer.toString(10 + ranks)));
                    assertThat(checkpoint.shape("weight")).containsExactly(2L, 3L);
                    assertThat(checkpoint.dataType("moments")).isEqualTo(DataType.FLOAT32);
                    int from = part(rank, readers);
                    int to = part(rank + 1, readers);
                    Tensor moments = TestRanks.filled(to - from, -1);
                    Tensor weight = TestRanks.filled(6, -1);
                    Tensor bias = TestRanks.filled(2, -1);
                    Tensor scale = TestRanks.filled(1, -1);
                    checkpoint.load(
                            List.of(
                                    Shard.part("moments", from, moments, LARGE),
                                    Shard.replicated("weight", weight, 2, 3),
                                    Shard.replicated("scale", scale),
                                    Shard.replicated("bias", bias, 2)));
                    assertThat(TestRanks.values(moments))
                            .isEqualTo(TestRanks.values(range(from, to)));
                    assertThat(TestRanks.values(weight)).isEqualTo(TestRanks.values(range(0, 6)));
                    assertThat(TestRanks.values(bias))
                            .isEqualTo(TestRanks.values(range(10 + ranks, 12 + ranks)));
                    assertThat(TestRanks.values(scale)).containsExactly(value(7));
                }
            }
            // One file a rank, the index and the lock: what was there before is gone.
            assertThat(files(directory)).hasSize(ranks + 2);
        }
    }

    @Test
    void devicesSaveAndLoad() {
        TestRanks.onDevices(
                2,
                group -> {
                    Device device = group.devices().get(0);
                    Tensor mine = TestRanks.tensor(device, group.rank(), 5);
                    Tensor same = TestRanks.tensor(device, 3, 4);
                    Checkpoint.save(
                            group,
                            directory,
                            List.of(
                                    Shard.part("x", 2L * group.rank(), mine, 4),
                                    Shard.replicated("y", same, 2)),
                            Map.of());
                    Tensor all = TestRanks.tensor(device, 9, 9, 9, 9);
                    Checkpoint.open(directory).load(List.of(Shard.part("x", 0, all, 4)));
                    assertThat(all.copyTo(new float[4])).containsExactly(0, 5, 1, 5);
                    for (Tensor each : List.of(mine, same, all)) {
                        each.close();
                    }
                });
    }

    private static Throwable saveReplicated(ProcessGroup group, Path where, Tensor... tensors) {
        List<Shard> shards = new ArrayList<>();
        for (int i = 0; i < tensors.length; i++) {
            shards.add(Shard.replicated("t" + i, tensors[i], tensors[i].count()));
        }
        return catchThrowable(() -> Checkpoint.save(group, where, shards, Map.of()));
    }

    @Test
    void replicatedTensorsWhoseElementsDifferAreNamedAndNotSaved() {
        TestRanks.onCpu(3, group -> save(group, directory, 1));
        List<Path> before = files(directory);
        TestRanks.onCpu(
                3,
                group -> {
                    Tensor same = range(0, LARGE);
                    Tensor onRank1 = range(0, LARGE);
                    if (group.rank() == 1) {
                        onRank1.slice(LARGE - 1, 1).copyFrom(new float[] {0.25f});
                    }
                    Tensor onRank0 = TestRanks.filled(2, group.rank() == 0 ? -0.0f : 0);
                    assertThat(saveReplicated(group, directory, same, onRank1))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("replicated tensor 't1' (float32 [700001])")
                            .hasMessageContaining(
                                    "rank 1 does not have the elements of ranks 0, 2. Before the save, copy");
                    assertThat(saveReplicated(group, directory, same, onRank0, onRank1))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("tensor 't1' (float32 [2]) differs")
                            .hasMessageContaining("rank 0 does not have the elements of ranks 1, 2")
                            .hasMessageContaining("; so does 1 other replicated tensor.");
                });
        assertThat(files(directory)).isEqualTo(before);
        assertThat(Checkpoint.open(directory).metadata()).containsEntry("step", "1");
    }

    @Test
    void replicatedTensorsOfDevicesAreCompared() {
        TestRanks.onDevices(
                2,
                group -> {
                    Device device = group.devices().get(0);
                    try (Tensor mine = TestRanks.tensor(device, 1, group.rank())) {
                        assertThat(saveReplicated(group, directory, mine))
                                .isInstanceOf(DifferentModelsException.class)
                                .hasMessageContaining(
                                        "rank 1 does not have the elements of rank 0");
                    }
                });
        assertThat(files(directory)).isEmpty();
    }

    @Test
    void aReplicatedTensorThatOneRankCanNotReadFailsOnAll() {
        TestRanks.onCpu(
                2,
                group -> {
                    Tensor tensor = Tensor.copyOf(new float[] {1, 2});
                    if (group.rank() == 1) {
                        tensor.close();
                    }
                    assertThat(saveReplicated(group, directory, tensor))
                            .isInstanceOf(
                                    group.rank() == 1
                                            ? UsageException.class
                                            : CheckpointException.class)
                            .hasMessageContaining("closed");
                    tensor.close();
                });
    }

    @Test
    void aSaveThatFailsOnOneRankFailsOnAllAndLeavesTheLastOne() throws IOException {
        TestRanks.onCpu(2, group -> save(group, directory, 1));
        List<Path> before = files(directory);
        Path file = Files.createFile(directory.resolve("file"));
        TestRanks.onCpu(
                2,
                group ->
                        assertThatThrownBy(
                                        () ->
                                                save(
                                                        group,
                                                        group.rank() == 0
                                                                ? directory
                                                                : file.resolve("below"),
                                                        2))
                                .isInstanceOf(CheckpointException.class)
                                .hasMessageContaining(
                                        group.rank() == 0
                                                ? "rank 1 could not write its part: "
                                                : "below"));
        Files.delete(file);
        assertThat(files(directory)).isEqualTo(before);
        assertThat(Checkpoint.open(directory).metadata()).containsEntry("step", "1");
    }

    /** Where a killed writer stopped: files without an index that names them. */
    @Test
    void whatWasNotFinishedDoesNotCountAndIsRemoved() throws IOException {
        TestRanks.onCpu(1, group -> save(group, directory, 1));
        Files.writeString(
                directory.resolve("0123456789abcdef-00000-of-00001.safetensors"), "half of it");
        Files.writeString(
                directory.resolve("0123456789abcdef-00000-of-00001.safetensors.77.tmp"), "half");
        Files.writeString(directory.resolve("checkpoint.safetensors.77.tmp"), "half");
        Files.writeString(directory.resolve("checkpoint.owner.0123456789abcdef.tmp"), "half");
        assertThat(Checkpoint.open(directory).metadata()).containsEntry("step", "1");
        TestRanks.onCpu(1, group -> save(group, directory, 2));
        assertThat(files(directory)).hasSize(3);
        assertThat(Checkpoint.open(directory).metadata()).containsEntry("step", "2");
    }

    @Test
    void missingCutAndDamagedFilesAreNamed() throws IOException {
        assertThatThrownBy(() -> Checkpoint.open(directory))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(directory + ": this folder has no complete checkpoint");
        assertThatThrownBy(() -> Checkpoint.open(directory.resolve("none")))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("none: there is no such folder");
        TestRanks.onCpu(2, group -> save(group, directory, 1));
        Path second =
                files(directory).stream()
                        .filter(file -> file.toString().contains("-00001-of-00002"))
                        .findFirst()
                        .orElseThrow();
        byte[] whole = Files.readAllBytes(second);

        Files.delete(second);
        broken(second + ": it is missing: the part of rank 1 of 2 is lost");

        Files.write(second, Arrays.copyOf(whole, whole.length / 2));
        broken(second + " cannot be read: its tensors have ");
        Files.write(second, Arrays.copyOf(whole, 5));
        broken(second + " cannot be read: it has only 5 bytes");
        Files.write(second, Arrays.copyOf(whole, 100));
        broken(second + " cannot be read: its header ends at byte");

        Files.write(second, whole);
        try (RandomAccessFile file = new RandomAccessFile(second.toFile(), "rw")) {
            file.seek(whole.length - 1000);
            file.write(whole[whole.length - 1000] ^ 1);
        }
        Checkpoint damaged = Checkpoint.open(directory);
        Tensor all = TestRanks.filled(LARGE, 0);
        assertThatThrownBy(() -> damaged.load(List.of(Shard.part("moments", 0, all, LARGE))))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(second + " is damaged: tensor 'moments'");
    }

    /** The step number, for instance, from which a program goes on. */
    @Test
    void damagedTextsAreRefused() throws IOException {
        TestRanks.onCpu(1, group -> save(group, directory, 5));
        Path index = directory.resolve("checkpoint.safetensors");
        String whole = Files.readString(index, StandardCharsets.ISO_8859_1);
        String damaged = whole.replace("\"step\":\"5\"", "\"step\":\"7\"");
        assertThat(damaged).isNotEqualTo(whole);
        Files.writeString(index, damaged, StandardCharsets.ISO_8859_1);
        broken(index + " cannot be read: its metadata has the checksum ");
        // As a file of before.
        Files.writeString(
                index,
                whole.replace("jccl.crc32c.__metadata__", "jccl.crc32c.__somewhat__"),
                StandardCharsets.ISO_8859_1);
        assertThat(Checkpoint.open(directory).metadata()).isEqualTo(Map.of("step", "5"));
        Files.writeString(index, whole, StandardCharsets.ISO_8859_1);
        assertThat(Checkpoint.open(directory).metadata()).isEqualTo(Map.of("step", "5"));
    }

    /** Nothing else tells that half of what is read is of another model. */
    @Test
    void aFileWithoutChecksumsThatWasReplacedIsNotRead() throws IOException {
        String header = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
        SafetensorsFile file = SafetensorsFile.open(withHeader(header));
        Tensor read = TestRanks.filled(2, 1);
        file.read("a", 0, read);
        assertThat(TestRanks.values(read)).containsOnly(0);
        Path replaced = withHeader(header);
        Files.setLastModifiedTime(replaced, FileTime.fromMillis(1));
        assertThatThrownBy(() -> file.read("a", 0, read))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(replaced + " was replaced or changed after it was opened")
                .hasMessageContaining("open it again");
        SafetensorsFile.open(replaced).read("a", 0, read);
    }

    private void broken(String words) {
        assertThatThrownBy(() -> Checkpoint.open(directory))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(words);
    }

    private void saveRefused(String words, List<Shard> ofRank0, List<Shard> ofRank1) {
        saveRefused(words, directory, ofRank0, directory, ofRank1);
    }

    /** What could not be opened does not take the place of what can. */
    private void saveRefused(
            String words,
            Path whereRank0,
            List<Shard> ofRank0,
            Path whereRank1,
            List<Shard> ofRank1) {
        TestRanks.onCpu(2, group -> save(group, directory, 1));
        List<Path> before = files(directory);
        TestRanks.onCpu(
                2,
                group ->
                        assertThatThrownBy(
                                        () ->
                                                Checkpoint.save(
                                                        group,
                                                        group.rank() == 0 ? whereRank0 : whereRank1,
                                                        group.rank() == 0 ? ofRank0 : ofRank1,
                                                        Map.of()))
                                .isInstanceOf(CheckpointException.class)
                                .hasMessageContaining(words)
                                .hasMessageContaining(
                                        group.rank() == 0 ? "" : "rank 0 could not "));
        assertThat(files(directory)).isEqualTo(before);
        assertThat(Checkpoint.open(directory).metadata()).containsEntry("step", "1");
    }

    private static List<Shard> ofX(int from, int size) {
        return List.of(Shard.part("x", from, range(0, 2), size));
    }

    @Test
    void partsThatDoNotFitAreNotSaved() {
        saveRefused("elements 2 to 2 of tensor 'x' are in no file", ofX(0, 5), ofX(3, 5));
        saveRefused("elements 1 to 1 of tensor 'x' are in several files", ofX(0, 3), ofX(1, 3));
        saveRefused(
                "of shape [5]; in other files it is float32 of shape [4]", ofX(0, 4), ofX(2, 5));
    }

    @Test
    void ranksThatDoNotSeeTheSameDirectoryAreNamed(@TempDir Path other) {
        saveRefused("the part of rank 1 of 2 is lost", directory, ofX(0, 4), other, ofX(2, 4));
        assertThat(files(other)).isEmpty();
    }

    @Test
    void anErrorOnOneRankFailsOnAll() {
        Map<String, String> noMemory =
                new AbstractMap<>() {
                    @Override
                    public Set<Map.Entry<String, String>> entrySet() {
                        throw new OutOfMemoryError("by intent");
                    }
                };
        TestRanks.onCpu(
                2,
                group -> {
                    boolean fails = group.rank() == 1;
                    assertThatThrownBy(
                                    () ->
                                            Checkpoint.save(
                                                    group,
                                                    directory,
                                                    ofX(2 * group.rank(), 4),
                                                    fails ? noMemory : Map.of()))
                            .isInstanceOf(
                                    fails ? OutOfMemoryError.class : CheckpointException.class)
                            .hasMessageContaining(fails ? "by intent" : "rank 1 could not write");
                });
    }

    /** A checkpoint may be read where another language is spoken. */
    @Test
    void namesOfFilesDoNotDependOnTheLanguage() {
        Locale before = Locale.getDefault(Locale.Category.FORMAT);
        Locale.setDefault(Locale.Category.FORMAT, Locale.forLanguageTag("ar-EG-u-nu-arab"));
        try {
            TestRanks.onCpu(1, group -> save(group, directory, 1));
        } finally {
            Locale.setDefault(Locale.Category.FORMAT, before);
        }
        assertThat(Checkpoint.open(directory).names()).hasSize(4);
    }

    @Test
    void wrongUseIsRefused() {
        TestRanks.onCpu(
                2,
                group -> {
                    Tensor two = range(0, 2);
                    assertThatThrownBy(
                                    () ->
                                            Checkpoint.save(
                                                    group,
                                                    directory,
                                                    List.of(
                                                            Shard.replicated(
                                                                    "r" + group.rank(), two, 2)),
                                                    Map.of()))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("rank 1 has replicated tensor 'r1'");
                    Shard one = Shard.replicated("x", two, 2);
                    refused(
                            "'x' appears twice",
                            () -> Checkpoint.save(group, directory, List.of(one, one), Map.of()));
                    refused(
                            "jccl.x",
                            () ->
                                    Checkpoint.save(
                                            group, directory, List.of(one), Map.of("jccl.x", "")));
                    refused(
                            "is reserved or not valid text",
                            () ->
                                    Checkpoint.save(
                                            group, directory, List.of(one), Map.of("x", "\ud83d")));
                    Checkpoint.save(group, directory, List.of(one), Map.of());
                    Checkpoint saved = Checkpoint.open(directory);
                    refused("no tensor 'y'", () -> saved.shape("y"));
                    refused(
                            "is float32 of shape [2], not float32 of shape [1, 2]",
                            () -> saved.load(List.of(Shard.replicated("x", two, 1, 2))));
                });
        Tensor two = range(0, 2);
        refused("not a part of 'x'", () -> Shard.part("x", 1, two, 2));
        refused("not a part of 'x'", () -> Shard.replicated("x", two, 3));
        refused("not a part of 'x'", () -> Shard.part("x", -1, two, 2));
        refused("a size is negative", () -> Shard.part("x", 0, two, -2));
        refused("overflow", () -> Shard.part("x", 0, two, Long.MAX_VALUE, 2));
        refused("__metadata__", () -> NamedTensor.of("__metadata__", two, 2));
        refused("not of shape [3]", () -> NamedTensor.of("x", two, 3));
        refused("shards", () -> Checkpoint.open(directory).load(Collections.singletonList(null)));
    }

    private static void refused(String words, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }

    @ParameterizedTest
    @EnumSource
    void filesHaveTensorsOfEveryType(DataType type) {
        Path file = directory.resolve("x.safetensors");
        try (Tensor tensor = Tensor.allocate(Device.CPU, type, 3);
                Tensor read = Tensor.allocate(Device.CPU, type, 2)) {
            SafetensorsFile.write(
                    file,
                    List.of(
                            NamedTensor.of("a\n\"\\\u00e9\ud83d\ude00", tensor, 3, 1),
                            NamedTensor.of("none", tensor.slice(0, 0), 0, 5)),
                    Map.of("key", "value \u20ac"));
            SafetensorsFile found = SafetensorsFile.open(file);
            assertThat(found.names())
                    .containsExactlyInAnyOrder("a\n\"\\\u00e9\ud83d\ude00", "none");
            assertThat(found.dataType("none")).isEqualTo(type);
            assertThat(found.shape("none")).containsExactly(0L, 5L);
            assertThat(found.metadata()).isEqualTo(Map.of("key", "value \u20ac"));
            found.read("a\n\"\\\u00e9\ud83d\ude00", 1, read);
            refused("not inside", () -> found.read("none", 0, read));
        }
    }

    /** A rank that has none of what another one has is not described by nothing. */
    @Test
    void aTensorThatIsReplicatedOnOneRankOnlyIsNamed() throws Exception {
        TestRanks.onCpu(
                3,
                group -> {
                    try (Tensor all = Tensor.copyOf(new float[6])) {
                        Shard shard =
                                group.rank() == 1
                                        ? Shard.replicated("bias", all, 6)
                                        : Shard.part("bias", 2, all.slice(0, 2), 6);
                        assertThatThrownBy(
                                        () ->
                                                Checkpoint.save(
                                                        group, directory, List.of(shard), Map.of()))
                                .isInstanceOf(DifferentModelsException.class)
                                .hasMessageContaining(
                                        "rank 0 has nothing there, rank 1 has replicated tensor"
                                                + " 'bias' (float32 [6]); all ranks must save the"
                                                + " same replicated tensors");
                    }
                });
    }

    @Test
    void headersThatAreWrongAreRefused() throws IOException {
        headerRefused(
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", "does not fit");
        headerRefused(
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", "begins at");
        headerRefused(
                "{\"a\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}", "dtype 'F99'");
        headerRefused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "each once");
        headerRefused(
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
                "a whole number of 0 or more");
        headerRefused(
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387906],"
                        + "\"data_offsets\":[0,8]}}",
                "does not fit");
        headerRefused(
                "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                        + "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
                "'a' appears twice");
        headerRefused("[]", "expected '{' at character 0, found '['");
        headerRefused("{}x", "expected nothing more at character 2, found 'x'");
        headerRefused("{}\0", "found the character U+0000");
        headerRefused("{\"a\"", "expected ':' at character 4, found its end");
        headerRefused("{\"\\ud800\":1}", "surrogate");
        headerRefused("{}", "0 bytes, but 8 follow");
        accepted("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}  ");
        accepted(" {\"a\":{\"data_offsets\":[0,8], \"shape\":[ ],\"dtype\":\"I64\"}}".trim());
    }

    private Path withHeader(String header) throws IOException {
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        byte[] file = new byte[8 + text.length + 8];
        file[0] = (byte) text.length;
        System.arraycopy(text, 0, file, 8, text.length);
        return Files.write(directory.resolve("h.safetensors"), file);
    }

    private void headerRefused(String header, String words) throws IOException {
        Path file = withHeader(header);
        assertThatThrownBy(() -> SafetensorsFile.open(file))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("h.safetensors")
                .hasMessageContaining(words);
    }

    private void accepted(String header) throws IOException {
        assertThat(SafetensorsFile.open(withHeader(header)).names()).containsExactly("a");
    }

    @Test
    void theFoldersAboveANewFolderAreForcedToTheDisk(@TempDir Path top) throws IOException {
        Path step = top.resolve("run").resolve("step-1000");
        assertThat(SafetensorsFile.createFolders(step)).containsExactly(top.resolve("run"), top);
        assertThat(step).isDirectory();
        assertThat(SafetensorsFile.createFolders(step)).isEmpty();
    }
}
