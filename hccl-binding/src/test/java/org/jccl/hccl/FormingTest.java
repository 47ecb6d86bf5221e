package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.store.HashStore;
import org.jccl.testing.AbsentRanks;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Communicators that one process forms at the same time, for which the mock ends the process. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class FormingTest {

    /** Worlds that wait for nothing but a busy machine. */
    private static final String SLOW = "-Dorg.jccl.conformance.slowness=3";

    private static void print(String what, Runnable forms) {
        try {
            forms.run();
            System.out.println(what + ": formed");
        } catch (JcclException e) {
            System.out.println(what + ": " + e.getMessage());
        }
    }

    /** A rank whose peer never comes stays in the library; then others form their own. */
    static final class Beside {

        private Beside() {}

        public static void main(String[] arguments) {
            // Loading is not what the ranks wait for.
            new HcclBackend(HcclOptions.defaults(), rank -> 2).alone().close();
            for (int rank : new int[] {1, 0}) {
                print(
                        "rank " + rank,
                        () -> {
                            Store store = HashStore.create(World.TIMEOUT);
                            AbsentRanks.comeTo(store, rank, 2);
                            Duration timeout = expires(Duration.ofSeconds(5));
                            World.join(store, rank, 2, timeout, HcclOptions.defaults());
                        });
            }
            for (int device : new int[] {0, 1}) {
                print(
                        "npu:" + device,
                        () ->
                                new HcclBackend(HcclOptions.defaults(), rank -> device)
                                        .builder(
                                                HashStore.create(World.TIMEOUT),
                                                0,
                                                1,
                                                expires(Duration.ofSeconds(5)))
                                        .joinTimeout(expires(Duration.ofSeconds(5)))
                                        .build()
                                        .close());
            }
            Runtime.getRuntime().halt(0);
        }
    }

    /** Several worlds of the same two devices. */
    static final class Together {

        private static final int WORLDS = 4;
        private static final Duration TIMEOUT = World.TIMEOUT;

        private Together() {}

        public static void main(String[] arguments) throws InterruptedException {
            // Loading is not what the ranks wait for.
            World.alone().close();
            List<Thread> ranks = new ArrayList<>();
            for (int world = 0; world < WORLDS; world++) {
                Store store = HashStore.create(TIMEOUT);
                for (int rank = 0; rank < 2; rank++) {
                    int mine = rank;
                    String what = "world " + world + " rank " + rank;
                    ranks.add(new Thread(() -> print(what, () -> barrier(store, mine))));
                }
            }
            ranks.forEach(Thread::start);
            for (Thread rank : ranks) {
                rank.join();
            }
        }

        private static void barrier(Store store, int rank) {
            try (ProcessGroup group = World.join(store, rank, 2, TIMEOUT, HcclOptions.defaults())) {
                group.barrier().synchronize();
            }
        }
    }

    @Test
    void aDeviceWhoseLibraryIsOccupiedIsNamedAndOthersAreFree() throws Exception {
        assertThat(ChildJvm.outputOf(Beside.class, Map.of(), SLOW))
                .contains("npu:1: formed")
                .containsPattern("rank 1: .*rank 0 did not write the HCCL root info")
                .containsPattern("rank 0: .*HcclCommInitRootInfoConfig did not finish")
                .containsPattern(
                        "npu:0: .*waited [0-9]+ m?s to form rank 0 of 1 of group world on npu:0, because"
                                + " rank 0 of 2 of group world on npu:0 has been inside HCCL for .*"
                                + " and past its own deadline .*HCCL_CONNECT_TIMEOUT.*one"
                                + " communicator at a time on a device");
    }

    @Test
    void worldsOfTheSameDevicesAreFormedOneAfterTheOther() throws Exception {
        String output = ChildJvm.outputOf(Together.class, Map.of(), SLOW);
        for (int world = 0; world < Together.WORLDS; world++) {
            assertThat(output)
                    .contains("world " + world + " rank 0: formed")
                    .contains("world " + world + " rank 1: formed");
        }
    }
}
