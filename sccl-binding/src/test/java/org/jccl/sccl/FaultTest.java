package org.jccl.sccl;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.store.FileStore;
import org.jccl.testing.Attempts;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.DeviceTensors;
import org.jccl.testing.FullDevice;
import org.jccl.testing.Questions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Failures of the vendor's libraries, and libraries of other times. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class FaultTest {

    /** Reduces on two ranks. */
    static final class Reductions {

        private Reductions() {}

        public static void main(String[] arguments) {
            World.run(
                    2,
                    expires(Duration.ofSeconds(10)),
                    ScclOptions.defaults(),
                    (group, device) -> {
                        // Not closed: the device may still use it.
                        Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                        Attempts.print(
                                group,
                                () -> {
                                    tensor.copyFrom(new float[] {1, 2, 3, 4});
                                    group.allReduce(tensor, ReduceOp.SUM).synchronize();
                                    System.out.println("sum " + DeviceTensors.read(tensor)[3]);
                                });
                    });
        }
    }

    private static String reductions(Map<String, String> environment, String... properties)
            throws Exception {
        return Attempts.of(Reductions.class, environment, properties);
    }

    @Test
    void withoutFaultsNothingIsReported() throws Exception {
        String output = reductions(Map.of());
        assertThat(output.split("sum 8.0", -1)).as(output).hasSize(1 + 2 * Attempts.TIMES);
        assertThat(output).doesNotContain("Exception");
    }

    /** libsccl makes 1 of whatever code tpuDNN returns. */
    @Test
    void aFailedCallPoisonsTheGroupWithItsCause() throws Exception {
        String output = reductions(Map.of("MOCK_SCCL_FAIL_AT", "2:7"));
        assertThat(output)
                .contains("libsccl failed with code 1: scclAllReduce: scclKernelError")
                .contains("GroupAbortedException")
                .contains("the group failed before");
    }

    @Test
    void aHangIsEndedByTheDeadlineAndTheDeviceIsSaidToBeStuck() throws Exception {
        String output = reductions(Map.of("MOCK_SCCL_HANG_AT", "2"));
        assertThat(output)
                .contains("OperationTimeoutException")
                .contains("not complete after 10 s")
                .contains("has been stuck in an operation of an aborted group for 5 s");
    }

    /**
     * A rank of two processes: the first one, which made the world's id, ends before it is used.
     */
    static final class Pair {

        private Pair() {}

        public static void main(String[] arguments) {
            int rank = Integer.getInteger("rank");
            Duration timeout = enough(Duration.ofSeconds(20));
            // Nothing is closed: the device is stuck.
            Store store = FileStore.open(Path.of(System.getProperty("file")), 2, timeout);
            ProcessGroup group = World.join(store, rank, 2, timeout, ScclOptions.defaults());
            if (rank == 0) {
                store.set("process", String.valueOf(ProcessHandle.current().pid()).getBytes(UTF_8));
            } else {
                long first = Long.parseLong(new String(store.get("process"), UTF_8));
                ProcessHandle.of(first).ifPresent(process -> process.onExit().join());
                Tensor tensor = Tensor.allocate(World.tpu(rank), DataType.FLOAT32, 4);
                tell("lost", () -> group.allReduce(tensor, ReduceOp.SUM).synchronize());
            }
            Runtime.getRuntime().halt(0);
        }
    }

    @Test
    void aPeerThatEndsBeforeTheFirstOperationIsNoticed(@TempDir Path directory) throws Exception {
        String file = "-Dfile=" + directory.resolve("store");
        CompletableFuture<String> first =
                CompletableFuture.supplyAsync(
                        () -> {
                            try {
                                return ChildJvm.outputOf(Pair.class, Map.of(), file, "-Drank=0");
                            } catch (IOException | InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                        });
        assertThat(ChildJvm.outputOf(Pair.class, Map.of(), file, "-Drank=1"))
                .contains("lost: ", "rank 0");
        first.join();
    }

    private static void tell(String name, Runnable wait) {
        try {
            wait.run();
        } catch (JcclException e) {
            System.out.println(name + ": " + e.getMessage());
        }
    }

    /** Reduces on another library's stream, which the other rank never does. */
    static final class OnAnotherStream {

        private OnAnotherStream() {}

        @SuppressWarnings("try") // The scope is there to be closed.
        public static void main(String[] arguments) {
            CountDownLatch failed = new CountDownLatch(1);
            World.run(
                    2,
                    expires(Duration.ofSeconds(2)),
                    ScclOptions.defaults(),
                    (group, device) -> {
                        if (group.rank() == 1) {
                            failed.await();
                            return;
                        }
                        Stream theirs =
                                Stream.ofHandle(device, StreamTest.nativeStream(device), null);
                        // Not closed: the device may still use it.
                        Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                        try (Stream.Scope scope = theirs.use()) {
                            group.sync().allReduce(tensor, ReduceOp.SUM);
                            tell("synchronize", theirs::synchronize);
                            // It reads no result, but waits for the same stream.
                            tell("copyFrom", () -> tensor.copyFrom(new float[4]));
                        } finally {
                            failed.countDown();
                        }
                    });
            System.out.println("all closed");
            Runtime.getRuntime().halt(0);
        }
    }

    @Test
    void aWaitForAnotherLibrarysStreamThatIsStuckEndsToo() throws Exception {
        assertThat(ChildJvm.outputOf(OnAnotherStream.class, Map.of()))
                .containsPattern("synchronize: .*not complete after 2 s")
                .containsPattern("copyFrom: .*not complete after 2 s")
                .contains("all closed");
    }

    /** Issues what the other rank never does, and goes on without waiting for it. */
    static final class Unawaited {

        private Unawaited() {}

        public static void main(String[] arguments) {
            CountDownLatch failed = new CountDownLatch(1);
            World.run(
                    2,
                    expires(Duration.ofSeconds(2)),
                    ScclOptions.defaults(),
                    (group, device) -> {
                        if (group.rank() == 1) {
                            failed.await();
                            return;
                        }
                        // Not closed: the device may still use them.
                        Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                        Tensor another = Tensor.allocate(device, DataType.FLOAT32, 4);
                        Event event = Event.create(device, false);
                        try {
                            group.allReduce(tensor, ReduceOp.SUM);
                            event.record(Stream.current(device));
                            tell("copyFrom", () -> another.copyFrom(new float[4]));
                            tell("event", event::synchronize);
                        } finally {
                            failed.countDown();
                        }
                    });
            System.out.println("all closed");
            Runtime.getRuntime().halt(0);
        }
    }

    /** A TPU has one stream, so that all that comes later is behind an asynchronous operation. */
    @Test
    void whatIsBehindAnOperationThatNobodyAwaitsTellsWhyItIsStuck() throws Exception {
        assertThat(ChildJvm.outputOf(Unawaited.class, Map.of()))
                .containsPattern("copyFrom: .*not complete after 2 s")
                .containsPattern("event: .*not complete after 2 s")
                .contains("all closed");
    }

    @Test
    void aSlowRankIsWaitedFor() throws Exception {
        String output = reductions(Map.of("MOCK_SCCL_SLOW_RANK", "1:300000"));
        assertThat(output).contains("sum 8.0").doesNotContain("Exception");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 6, 8})
    void aFailureOnTheDeviceIsNamedWhereverItHappens(int operation) throws Exception {
        String output =
                reductions(Map.of("MOCK_RUNTIME_FAIL_AT", operation + ":3", "MOCK_DELAY_US", "0"));
        assertThat(output)
                .containsAnyOf(
                        "libtpurt failed with code 3: ",
                        "libtpudnn failed with code 1: tpudnnFlush");
    }

    /** Sums on four ranks of the given devices. */
    static final class SumOnChips {

        private SumOnChips() {}

        public static void main(String[] arguments) throws Exception {
            int[] map =
                    Arrays.stream(System.getenv("MAP").split(","))
                            .mapToInt(Integer::parseInt)
                            .toArray();
            World.run(
                    map.length,
                    World.TIMEOUT,
                    ScclOptions.ofChips(map),
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                            tensor.copyFrom(new float[] {1});
                            group.allReduce(tensor, ReduceOp.SUM).await();
                            System.out.println("sum " + tensor.copyTo(new float[1])[0]);
                        }
                    });
        }
    }

    @Test
    void ranksThatFollowNoRingOfLinksAreWarnedWithOneThatDoes() throws Exception {
        Map<String, String> environment = Map.of("MAP", "0,1,2,3", "MOCK_DEVICES", "8");
        assertThat(ChildJvm.outputOf(SumOnChips.class, environment))
                .contains("[0, 1, 2, 3] do not form a ring of links")
                .contains("a ring is [0, 1, 3, 2]")
                .contains("sum 4.0");
    }

    @Test
    void ranksThatFollowARingAreNot() throws Exception {
        Map<String, String> environment =
                Map.of("MAP", "7,6,2,3", "MOCK_DEVICES", "8", "MOCK_SCCL_RING", "1");
        assertThat(ChildJvm.outputOf(SumOnChips.class, environment))
                .contains("sum 4.0")
                .doesNotContain("a ring of links");
    }

    /** Libraries that have no scclDestoryHandle and no messages, and no kernels beside them. */
    private static String[] of2024() {
        Path folder =
                Path.of(System.getProperty("org.jccl.sccl.library"))
                        .getParent()
                        .resolve("../../sccl-2024-11")
                        .normalize();
        return new String[] {
            "-Dorg.jccl.sccl.tpudnn=" + folder.resolve("libtpudnn.so"),
            "-Dorg.jccl.sccl.tpurt=" + folder.resolve("libtpurt.so"),
            "-Dorg.jccl.sccl.library=" + folder.resolve("libsccl.so")
        };
    }

    @Test
    void librariesOf2024Work() throws Exception {
        assertThat(reductions(Map.of(), with(of2024(), "-Dorg.jccl.sccl.module=pom.xml")))
                .contains("sum 8.0")
                .doesNotContain("Exception");
    }

    @Test
    void missingKernelsAreAnErrorThatSaysWhatToInstall() throws Exception {
        assertThat(Questions.whyUnavailable("sccl", Map.of(), of2024()))
                .contains("the kernels that SCCL's calls on a stream need were not found")
                .contains("install a torch_tpu of July 2024 or later", "TPUKERNEL_FIRMWARE_PATH")
                .contains("libtorch_tpu.so: does not exist", "has 0 files *kernel_module*.so");
    }

    @Test
    void unreadableKernelsAreAnError(@TempDir Path folder) throws Exception {
        Path old = Path.of(of2024()[0].split("=")[1]).getParent();
        for (String name : List.of("libtpudnn.so", "libtpurt.so", "libsccl.so")) {
            Files.createSymbolicLink(folder.resolve(name), old.resolve(name));
        }
        Files.writeString(folder.resolve("libtorch_tpu.so"), "no library");
        assertThat(
                        Questions.whyUnavailable(
                                "sccl",
                                Map.of(),
                                "-Dorg.jccl.sccl.tpudnn=" + folder.resolve("libtpudnn.so"),
                                "-Dorg.jccl.sccl.tpurt=" + folder.resolve("libtpurt.so"),
                                "-Dorg.jccl.sccl.library=" + folder.resolve("libsccl.so")))
                .contains("the kernels that SCCL's calls on a stream need were not found")
                .contains("libtorch_tpu.so: its kernels cannot be read: ");
    }

    private static String[] with(String[] properties, String another) {
        String[] all = Arrays.copyOf(properties, properties.length + 1);
        all[properties.length] = another;
        return all;
    }

    /** Also if the library returns success and the address 0. */
    @ParameterizedTest
    @ValueSource(strings = {"null", "code"})
    void aFullDeviceIsAnOutOfMemoryError(String answer) throws Exception {
        assertThat(
                        ChildJvm.outputOf(
                                FullDevice.class,
                                Map.of("MOCK_TPU_NO_MEMORY", answer),
                                "-Ddevice=tpu"))
                .contains("OutOfMemoryError: tpuMalloc")
                .contains(FullDevice.STILL_WORKS);
    }
}
