package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.nccl.NcclOptions.Registration;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Memory that is registered with communicators. */
final class RegistrationTest {

    private static NcclOptions options(Registration registration) {
        return NcclOptions.builder().registration(registration).build();
    }

    /** Registers, and prints what the mock has counted when the process ends. */
    static final class Count {

        private Count() {}

        public static void main(String[] arguments) throws Exception {
            NcclOptions options = options(Registration.valueOf(System.getProperty("kind")));
            Tensor early = NcclMemory.allocate(World.GPU, DataType.FLOAT32, 2);
            try (ProcessGroup group = new NcclBackend(options).alone();
                    Tensor late = NcclMemory.allocate(World.GPU, DataType.FLOAT32, 2);
                    Tensor own = group.allocate(World.GPU, DataType.FLOAT32, 2);
                    ProcessGroup other = new NcclBackend(options).alone()) {
                for (int i = 0; i < 2; i++) {
                    group.register(late.slice(1, 1)); // the block that it is a part of
                }
                other.register(early);
                group.allReduce(late, ReduceOp.SUM).await();
                group.allReduce(own, ReduceOp.SUM).await();
            } catch (UsageException e) {
                System.out.println("refused: " + e.getMessage());
            }
            early.close();
            awaitFrees(1);
        }
    }

    /** Tensors are freed on one thread for each device, in the order of their closing. */
    private static void awaitFrees(int devices) throws InterruptedException {
        for (int i = 0; i < devices; i++) {
            Device device = World.gpu(i);
            CountDownLatch reached = new CountDownLatch(1);
            Tensor.adopt(64, 1, DataType.FLOAT32, device, reached::countDown).close();
            assertThat(reached.await(1, TimeUnit.MINUTES)).isTrue();
        }
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("jccl-nccl-free-memory")) {
                thread.join(TimeUnit.MINUTES.toMillis(1));
            }
        }
    }

    private static String count(Registration kind, String... variables) throws Exception {
        Map<String, String> environment = new HashMap<>();
        environment.put("MOCK_NCCL_PRINT_REGISTRATIONS", "1");
        for (int i = 0; i < variables.length; i += 2) {
            environment.put(variables[i], variables[i + 1]);
        }
        return ChildJvm.outputOf(Count.class, environment, "-Dkind=" + kind);
    }

    @Test
    @Tag("mocked-nccl")
    void eachBlockIsRegisteredOnceAndDeregistered() throws Exception {
        assertThat(count(Registration.ON_REQUEST))
                .contains("registrations: 2 made, ", " 0 left; 0 blocks left");
        // Three blocks with each of two groups.
        assertThat(count(Registration.AUTOMATIC))
                .contains("registrations: 6 made, ", " 0 left; 0 blocks left");
        assertThat(count(Registration.WINDOWS))
                .contains("registrations: 3 made, ", " 0 left; 0 blocks left");
    }

    @Test
    @Tag("mocked-nccl")
    void windowsAreRefusedBelowTheirVersion() throws Exception {
        assertThat(count(Registration.WINDOWS, "MOCK_NCCL_VERSION", "22606"))
                .contains("refused: ", "registration WINDOWS needs NCCL 2.27 or later");
    }

    @Test
    void otherMemoryAndOtherLibrariesAreRefused() {
        Tensor closed = NcclMemory.allocate(World.GPU, DataType.FLOAT32, 2);
        closed.close();
        try (ProcessGroup group = World.alone();
                ProcessGroup host =
                        ProcessGroup.builder()
                                .backend("gloo")
                                .store(HashStore.create(World.TIMEOUT))
                                .rank(0)
                                .worldSize(1)
                                .build();
                Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 2);
                Tensor onHost = Tensor.allocate(Device.CPU, DataType.FLOAT32, 2)) {
            assertThatThrownBy(() -> group.register(tensor))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("allocate the tensor with NcclMemory.allocate");
            assertThatThrownBy(() -> group.register(closed)).hasMessageContaining("is closed");
            assertThatThrownBy(() -> group.register(null)).isInstanceOf(UsageException.class);
            assertThatThrownBy(() -> host.register(onHost))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("does not register memory");
            group.allReduce(tensor, ReduceOp.SUM).await();
            try (Tensor plain = host.allocate(Device.CPU, DataType.INT32, 0)) {
                assertThat(plain.count()).isZero();
            }
        }
    }

    /** NVIDIA's library has no windows on the mock devices, and does not wait. */
    @Test
    @Tag("mocked-nccl")
    void aWindowThatOneRankDoesNotRegisterTimesOut() {
        World.run(
                2,
                expires(Duration.ofSeconds(2)),
                options(Registration.WINDOWS),
                (group, device) -> {
                    if (group.rank() == 0) {
                        assertThatThrownBy(() -> group.allocate(device, DataType.FLOAT32, 1))
                                .hasMessageContaining(
                                        "ncclCommWindowRegister did not finish in 2 s")
                                .hasMessageContaining("all ranks must register the same tensors");
                    }
                });
    }

    /** Registers, reduces and closes in random order, and aborts some of the groups. */
    static final class Cycles {

        private Cycles() {}

        public static void main(String[] arguments) throws Exception {
            int cycles = Integer.getInteger("cycles");
            long seed = Long.getLong("seed", System.nanoTime());
            System.out.println("seed " + seed);
            NcclOptions.Builder options =
                    NcclOptions.builder()
                            .registration(Registration.valueOf(System.getProperty("kind")))
                            .blocking(Boolean.getBoolean("blocking"));
            for (int i = 0; i < cycles; i++) {
                long ofCycle = seed + i;
                World.run(
                        2,
                        enough(Duration.ofSeconds(60)),
                        options.build(),
                        (group, device) -> cycle(group, device, new Random(ofCycle)));
            }
            awaitFrees(2);
            System.out.println("all cycles are through");
        }

        /** The ranks draw the same numbers, since windows are registered by all of them. */
        private static void cycle(ProcessGroup group, Device device, Random random) {
            Tensor before = NcclMemory.allocate(device, DataType.FLOAT32, 1 + random.nextInt(999));
            Tensor own = group.allocate(device, DataType.FLOAT32, 1 + random.nextInt(9999));
            group.register(before);
            Tensor[] summed = {before, own};
            float[] first = {0, 0};
            for (int i = 0; i < 2; i++) {
                summed[i].copyFrom(ones(summed[i]));
                group.allReduce(summed[i], ReduceOp.SUM).synchronize();
                first[i] = summed[i].copyTo(new float[(int) summed[i].count()])[0];
            }
            assertThat(first).containsExactly(2, 2);
            boolean aborts = random.nextInt(3) == 0;
            List<Runnable> ends = new ArrayList<>();
            ends.add(before::close);
            ends.add(own::close);
            ends.add(aborts ? group::abort : group::close);
            // Each rank in an order of its own.
            Collections.shuffle(ends, new Random(random.nextLong() + group.rank()));
            // NCCL may miss an abort that comes just before a call that waits for other ranks.
            boolean waits = System.getProperty("kind").equals("WINDOWS");
            if (aborts && random.nextBoolean() && !waits) {
                Thread abort = new Thread(group::abort);
                abort.start();
                registerOneMore(group, device);
                join(abort);
            }
            ends.forEach(Runnable::run);
            group.close();
        }

        private static void registerOneMore(ProcessGroup group, Device device) {
            try (Tensor more = NcclMemory.allocate(device, DataType.FLOAT32, 5)) {
                group.register(more);
                group.allReduce(more, ReduceOp.SUM);
            } catch (JcclException e) {
                // The abort was faster.
            }
        }

        private static float[] ones(Tensor tensor) {
            float[] ones = new float[(int) tensor.count()];
            Arrays.fill(ones, 1);
            return ones;
        }

        private static void join(Thread thread) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private static String cycles(Registration kind, boolean blocking, int cycles) throws Exception {
        return ChildJvm.outputOf(
                Cycles.class,
                Map.of(
                        "MOCK_NCCL_PRINT_REGISTRATIONS",
                        "1",
                        "MOCK_DELAY_US",
                        "20",
                        "MOCK_INIT_MS",
                        "0",
                        "NCCL_LOCAL_REGISTER", // NVIDIA's library; the emulator leaves it out
                        "1"),
                "-Dkind=" + kind,
                "-Dblocking=" + blocking,
                "-Dcycles=" + cycles);
    }

    @ParameterizedTest
    @EnumSource(Registration.class)
    void nothingIsLeftInAnyOrderOfClosing(Registration kind) throws Exception {
        expectNothingLeft(cycles(kind, true, 20));
        expectNothingLeft(cycles(kind, false, 10));
    }

    /** A cycle on NVIDIA's library takes about a second. */
    @Test
    @Tag("nightly")
    @Timeout(3000)
    void nothingIsLeftAfterAThousandCycles() throws Exception {
        for (Registration kind : Registration.values()) {
            expectNothingLeft(cycles(kind, true, 334));
        }
    }

    private static void expectNothingLeft(String output) {
        assertThat(output)
                .contains("all cycles are through")
                .doesNotContain("not freed", "stay allocated");
        if (output.contains("registrations: ")) {
            assertThat(output).contains(" 0 left; 0 blocks left");
        }
    }
}
