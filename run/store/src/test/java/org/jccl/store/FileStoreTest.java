package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;
import org.jccl.spi.Deadline;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("all")
final class FileStoreTest extends StoreContract {

    @TempDir private static Path directory;

    private Path file;

    @BeforeEach
    @Override
    void openStore() throws Exception {
        file = directory.resolve("store" + System.nanoTime());
        super.openStore();
    }

    @Override
    Store connect(Duration timeout) {
        return FileStore.open(file, 1, timeout);
    }

    /** Each write starts a process that takes the lock, so thousands would take a minute. */
    @Override
    int manyKeys() {
        return 100;
    }

    @Test
    void writesRecordsAsPyTorchDoes() throws IOException {
        store.set("k", bytes("v1"));
        store.add("n", 12);
        store.deleteKey("k");
        assertThat(Files.readAllBytes(file))
                .isEqualTo(
                        WireBytes.of(
                                "09 00x3 'refcount/' 01 00x3 '1'"
                                        + " 02 00x3 '/k' 02 00x3 'v1'"
                                        + " 02 00x3 '/n' 02 00x3 '12'"
                                        + " 03 00x3 '-/k' 00x4"));
    }

    /** The flock command says nothing but a number. */
    @Test
    void namesThePlaceThatIsNotThere() throws Exception {
        Path missing = directory.resolve("no/folder");
        assertThatThrownBy(() -> FileStore.open(missing.resolve("store"), 1, LONG))
                .isInstanceOf(StoreException.class)
                .isNotInstanceOf(StoreTimeoutException.class)
                .hasMessageContaining("the folder '" + missing + "' does not exist")
                .hasMessageNotContaining("within");
        assertThatThrownBy(() -> FileStore.open(directory, 1, LONG))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("'" + directory + "' cannot be opened: it is a folder");
        Path plain = Files.createFile(directory.resolve("plain" + System.nanoTime()));
        assertThatThrownBy(() -> FileStore.open(plain.resolve("store"), 1, LONG))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("'" + plain + "' is not a folder");
    }

    @Test
    void lastToCloseDeletesTheFile() throws Exception {
        Store second = open(LONG);
        store.close();
        assertThat(file).exists();
        second.close();
        assertThat(file).doesNotExist();
    }

    @Test
    void fileStaysUntilAsManyAsTheWorldHaveClosed() {
        Path shared = directory.resolve("world of two");
        FileStore.open(shared, 2, LONG).close();
        assertThat(shared).exists();
        FileStore.open(shared, 2, LONG).close();
        assertThat(shared).doesNotExist();
    }

    @Test
    void hasNoQueues() {
        for (Runnable call :
                new Runnable[] {
                    () -> store.queuePush("q", bytes("x")),
                    () -> store.queuePop("q"),
                    () -> store.queuePoll("q"),
                    () -> store.queueLength("q")
                }) {
            assertThatThrownBy(call::run)
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("no queues");
        }
    }

    @Test
    void readsARecordOnlyWhenItIsWhole() throws IOException {
        byte[] record = WireBytes.of("02 00x3 '/k' 05 00x3 'value'");
        for (int i = 0; i < record.length; i++) {
            assertThat(store.check(java.util.List.of("k"))).isFalse();
            Files.write(file, new byte[] {record[i]}, StandardOpenOption.APPEND);
        }
        assertThat(store.get("k")).isEqualTo(bytes("value"));
    }

    /** As on a full disk: the system takes the first part of the record, and no more. */
    @Test
    void whatCouldNotBeWrittenDidNotHappen() throws Exception {
        store.set("k", bytes("old"));
        store.add("n", 1);
        ChildJvm.outputOf(FullDisk.class, Map.of("FILE", file.toString()));
        assertThat(store.get("k")).isEqualTo(bytes("new"));
        assertThat(store.add("n", 0)).isEqualTo(2);
    }

    /** A writer whose process may not make files longer for a while. */
    static final class FullDisk {

        private static final byte[] LARGE = new byte[16 << 10];

        public static void main(String[] arguments) throws Exception {
            try (FileStore store = FileStore.open(Path.of(System.getenv("FILE")), 1, LONG)) {
                setLongestFile("4096");
                assertThatThrownBy(() -> store.set("k", LARGE))
                        .isInstanceOf(StoreException.class)
                        .hasMessageContaining("File too large");
                assertThat(store.get("k")).isEqualTo(bytes("old"));
                setLongestFile("1");
                assertThatThrownBy(() -> store.add("n", 1)).isInstanceOf(StoreException.class);
                setLongestFile("unlimited");
                assertThat(store.add("n", 1)).isEqualTo(2);
                store.set("k", bytes("new"));
            }
        }

        private static void setLongestFile(String bytes) throws Exception {
            String pid = Long.toString(ProcessHandle.current().pid());
            String limit = "--fsize=" + bytes + ":unlimited";
            int code = new ProcessBuilder("prlimit", "--pid", pid, limit).start().waitFor();
            assertThat(code).isZero();
        }
    }

    @Test
    void namesAFileThatIsNoStore() throws IOException {
        Path other = directory.resolve("other");
        Files.writeString(other, "this is not a store");
        assertThatThrownBy(() -> FileStore.open(other, 1, LONG))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining(other.toString())
                .hasMessageContaining("truncated");
    }

    @Test
    void namesTheStoppedProcessThatHoldsTheLock() throws Exception {
        Process holder = new ProcessBuilder("flock", "--no-fork", file.toString(), "cat").start();
        try {
            holder.getOutputStream().write('x');
            holder.getOutputStream().flush();
            assertThat(holder.getInputStream().read()).isEqualTo('x');
            String pid = Long.toString(holder.pid());
            new ProcessBuilder("kill", "-STOP", pid).start().waitFor();
            assertThatThrownBy(() -> store.duplicate(Duration.ZERO))
                    .isInstanceOf(StoreTimeoutException.class)
                    .hasMessageContaining("process " + pid + " (")
                    .hasMessageContaining("which is stopped, holds it");
        } finally {
            holder.destroyForcibly().waitFor();
        }
    }

    /** As a store of a Java process holds it. */
    @Test
    void namesTheProcessWhoseCommandHoldsTheLock() {
        FileLock held = FileLock.acquire(file, Deadline.after(LONG));
        try {
            assertThatThrownBy(() -> store.duplicate(Duration.ZERO))
                    .isInstanceOf(StoreTimeoutException.class)
                    .hasMessageContaining("process " + ProcessHandle.current().pid() + " (");
        } finally {
            held.close();
        }
    }

    /** Locks with the {@code flock} of its PATH. */
    static final class Locking {

        private Locking() {}

        public static void main(String[] arguments) {
            Path file = Path.of(System.getProperty("file"));
            try {
                FileStore.open(file, 1, expires(Duration.ofSeconds(1)));
            } catch (StoreException e) {
                System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }
    }

    /** As where a file server is gone: the command cannot open the file, or not close it. */
    @ParameterizedTest
    @CsvSource({
        "'', StoreTimeoutException, did not answer in 1",
        "head -c 1, StoreException, did not answer in 1"
    })
    void aCommandThatDoesNotEndIsGivenUp(
            String first, String exception, String text, @TempDir Path path) throws Exception {
        Path flock = path.resolve("flock");
        Files.writeString(flock, "#!/bin/sh\n" + first + "\nexec sleep 1000\n");
        assertThat(flock.toFile().setExecutable(true)).isTrue();
        Map<String, String> environment = Map.of("PATH", path + ":" + System.getenv("PATH"));
        assertThat(ChildJvm.outputOf(Locking.class, environment, "-Dfile=" + file))
                .contains(exception + ": The flock command for '" + file + "' " + text)
                .contains("use a TcpStore");
    }

    /**
     * What a rank of the job before would write there, those of the new one would take for theirs.
     */
    @Test
    void doesNotGoOnInTheFileOfAnotherJob() throws IOException {
        Files.delete(file);
        try (FileStore other = FileStore.open(file, 1, LONG)) {
            for (ThrowingCallable call :
                    List.<ThrowingCallable>of(
                            () -> store.set("k", new byte[0]),
                            () -> store.check(List.of("k")),
                            store::close)) {
                assertThatThrownBy(call)
                        .isInstanceOf(StoreException.class)
                        .hasMessageContaining("a job deleted it and created it again");
            }
            assertThat(other.listKeys()).isEmpty();
            assertThat(file).exists();
        }
        assertThat(file).doesNotExist();
    }

    @Test
    void namesAFileThatIsGone() throws IOException {
        Files.delete(file);
        assertThatThrownBy(store::keyCount)
                .isInstanceOf(StoreException.class)
                .hasMessageContaining(file.toString())
                .hasMessageContaining("the file does not exist");
    }

    // Whether writing to a command that ends early fails is a matter of luck.
    @RepeatedTest(10)
    void namesAFileThatCanNotBeCreated() {
        Path nowhere = directory.resolve("missing").resolve("file");
        assertThatThrownBy(() -> FileStore.open(nowhere, 1, SHORT))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining(nowhere.toString());
        assertThatThrownBy(() -> FileStore.open(null, 1, SHORT)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> FileStore.open(nowhere, 0, SHORT))
                .isInstanceOf(UsageException.class);
    }

    @Test
    void aCountThatIsNoNumberIsReported(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("store");
        byte[] name = "refcount/".getBytes(StandardCharsets.US_ASCII);
        byte[] value = "many".getBytes(StandardCharsets.US_ASCII);
        ByteBuffer record =
                ByteBuffer.allocate(2 * Integer.BYTES + name.length + value.length)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putInt(name.length)
                        .put(name)
                        .putInt(value.length)
                        .put(value);
        Files.write(file, record.array());
        assertThatThrownBy(() -> FileStore.open(file, 1, enough(Duration.ofSeconds(30))))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("corrupt")
                .hasMessageContaining(file.toString());
    }

    @Test
    void aRelativeNameMayBeginWithADash() throws IOException {
        Path file = Path.of("-c-" + System.nanoTime());
        try (FileStore store = FileStore.open(file, 1, enough(Duration.ofSeconds(30)))) {
            store.set("k", new byte[] {1});
            assertThat(store.get("k")).containsExactly(1);
        } finally {
            Files.deleteIfExists(file);
        }
    }
}
