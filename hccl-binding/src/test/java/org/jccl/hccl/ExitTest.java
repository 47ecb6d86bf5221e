package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.NativeLibrary;
import java.util.List;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How a JVM ends that has used ACL; the mock ends the process if ACL ends before what needs it. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class ExitTest {

    /** Worlds that wait for nothing but a busy machine. */
    private static final String SLOW = "-Dorg.jccl.conformance.slowness=3";

    private static final String NOT_ENDED = "the process ends without aclFinalize";

    /** Closes all that it has made. */
    static final class Orderly {

        private Orderly() {}

        public static void main(String[] arguments) {
            try (ProcessGroup world = World.alone();
                    ProcessGroup part = world.split(0, 0).orElseThrow();
                    Stream stream = Stream.create(World.NPU, false);
                    Tensor tensor = Tensor.allocate(World.NPU, DataType.FLOAT32, 4)) {
                part.allReduce(tensor, ReduceOp.SUM).await();
                world.allReduce(tensor, ReduceOp.MAX).synchronize();
                stream.synchronize();
            }
            System.out.println("all closed");
        }
    }

    /** Ends while something is open. */
    static final class Open {

        private Open() {}

        public static void main(String[] arguments) {
            ProcessGroup world = World.alone();
            Tensor tensor = Tensor.allocate(World.NPU, DataType.FLOAT32, 4);
            world.allReduce(tensor, ReduceOp.SUM).synchronize();
            if (System.getProperty("open").equals("tensor")) {
                world.close();
            } else {
                tensor.close();
            }
            System.exit(0);
        }
    }

    /** Uses ACL beside other code that has initialised it, and will not end it. */
    static final class Beside {

        private Beside() {}

        public static void main(String[] arguments) {
            Object[] none = {0L};
            NativeLibrary.getInstance(System.getProperty("org.jccl.hccl.acl"))
                    .getFunction("aclInit")
                    .invokeInt(none);
            Orderly.main(arguments);
        }
    }

    private static String[] release(String name) {
        String folder = System.getProperty("jccl.mocks") + "/" + name;
        return new String[] {
            "-Dorg.jccl.hccl.acl=" + folder + "/libascendcl.so",
            "-Dorg.jccl.hccl.library=" + folder + "/libhccl.so",
            SLOW
        };
    }

    /** By a count of references, and before 8.5 without. */
    @ParameterizedTest
    @ValueSource(strings = {"", "cann-8.3", "cann-8.1"})
    void aclEndsWithTheJvmWhenAllIsClosed(String name) throws Exception {
        assertThat(ChildJvm.outputOf(Orderly.class, Map.of(), release(name)))
                .contains("all closed")
                .doesNotContain(NOT_ENDED, "mock");
    }

    @ParameterizedTest
    @ValueSource(strings = {"tensor", "group"})
    void aclIsLeftAloneWhileSomethingIsOpen(String open) throws Exception {
        assertThat(ChildJvm.outputOf(Open.class, Map.of(), "-Dopen=" + open, SLOW))
                .contains(NOT_ENDED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "cann-8.3"})
    void aclOfOthersIsLeftToThem(String name) throws Exception {
        assertThat(
                        ChildJvm.outputOf(
                                Beside.class,
                                Map.of("ASCEND_COREDUMP_SIGNAL", "none"),
                                release(name)))
                .contains("all closed", NOT_ENDED);
    }

    /** Memory is freed by another thread, a moment after its tensor is closed. */
    @Test
    void memoryThatIsBeingFreedIsWaitedFor() {
        AclLifetime lifetime = new AclLifetime();
        lifetime.hold();
        Thread ending = Thread.currentThread();
        Thread freeing =
                new Thread(
                        () -> {
                            while (ending.getState() != Thread.State.TIMED_WAITING) {
                                Thread.onSpinWait();
                            }
                            lifetime.release();
                        });
        freeing.start();
        int[] ends = {0};
        lifetime.end(() -> ends[0]++, "aclFinalize");
        assertThat(ends[0]).isEqualTo(1);
    }

    @Test
    void aclIsNotUsedAfterItsEnd() {
        AclLifetime lifetime = new AclLifetime();
        lifetime.hold();
        lifetime.release();
        int[] ends = {0};
        lifetime.end(() -> ends[0]++, "aclFinalize");
        assertThat(ends[0]).isEqualTo(1);
        assertThatThrownBy(lifetime::hold)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("has finalised ACL");
    }

    /** Ends in a certain way with a world open that has run operations. */
    static final class Unclosed {

        private Unclosed() {}

        public static void main(String[] arguments) throws InterruptedException {
            ProcessGroup world = World.alone();
            world.newGroup(List.of(0)).orElseThrow().sync().barrier();
            Tensor tensor = Tensor.allocate(World.NPU, DataType.FLOAT32, 4);
            world.allReduce(tensor, ReduceOp.SUM).synchronize();
            if (Boolean.getBoolean("inFlight")) {
                world.allReduce(tensor, ReduceOp.SUM);
            }
            switch (System.getProperty("end")) {
                case "exit" -> System.exit(3);
                case "exception" -> throw new IllegalStateException("the program failed");
                default -> System.out.println("the program returns");
            }
        }
    }

    /** In these modes HCCL itself would end the process with a signal. */
    @ParameterizedTest
    @CsvSource({
        "return, false, 0",
        "return, true, 0",
        "exit, false, 3",
        "exit, true, 3",
        "exception, false, 1",
        "exception, true, 1"
    })
    void aProgramThatDoesNotCloseKeepsItsExitCode(String end, boolean inFlight, int code)
            throws Exception {
        assertThat(
                        ChildJvm.outputOf(
                                code,
                                Unclosed.class,
                                Map.of("HCCL_OP_EXPANSION_MODE", "CCU_SCHED"),
                                "-Dend=" + end,
                                "-DinFlight=" + inFlight,
                                SLOW))
                .contains("the process ends with open groups")
                .doesNotContain("kernels are gone", "fatal");
    }
}
