package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.testing.Attempts;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.FullDevice;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Failures of the vendor's libraries, which the mocks make at a given call. */
@Tag("mocked-nccl")
@Execution(ExecutionMode.CONCURRENT)
final class FaultTest {

    /** Reduces on two ranks. */
    static final class Reductions {

        private Reductions() {}

        public static void main(String[] arguments) {
            World.run(
                    2,
                    expires(Duration.ofSeconds(12)),
                    NcclOptions.defaults(),
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                            Attempts.print(
                                    group,
                                    () -> group.allReduce(tensor, ReduceOp.SUM).synchronize());
                        }
                    });
        }
    }

    /** Exchanges messages in a batch, and parts of different sizes, on two ranks. */
    static final class Groups {

        private Groups() {}

        public static void main(String[] arguments) {
            World.run(
                    2,
                    expires(Duration.ofSeconds(12)),
                    NcclOptions.defaults(),
                    (group, device) -> {
                        int peer = 1 - group.rank();
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                            Tensor mine = tensor.slice(0, 2);
                            Tensor theirs = tensor.slice(2, 2);
                            Attempts.print(
                                    group,
                                    () ->
                                            group.batch()
                                                    .send(mine, peer, 0)
                                                    .recv(theirs, peer, 0)
                                                    .issue()
                                                    .forEach(Work::synchronize));
                        }
                    });
        }
    }

    @Test
    void whatFailedInAGroupIsReportedRatherThanItsEnd() throws Exception {
        assertThat(Attempts.of(Groups.class, Map.of("MOCK_NCCL_FAIL_AT", "2:4")))
                .containsPattern("libnccl failed with code 4: nccl(Send|Recv)")
                .doesNotContain("ncclGroupEnd");
    }

    private static String reductions(Map<String, String> environment) throws Exception {
        return Attempts.of(Reductions.class, environment);
    }

    @Test
    void withoutFaultsNothingIsReported() throws Exception {
        assertThat(reductions(Map.of())).doesNotContain("Exception");
    }

    @ParameterizedTest
    @CsvSource({
        "2, 'libnccl failed with code 3: ncclAllReduce'",
        "2:4, 'libnccl failed with code 4'",
        "2:6, 'libnccl lost a peer: ncclAllReduce'",
        "2:8, 'libnccl timed out: ncclAllReduce: timeout'"
    })
    void failedCallPoisonsTheGroupWithItsCause(String fault, String text) throws Exception {
        assertThat(reductions(Map.of("MOCK_NCCL_FAIL_AT", fault)))
                .contains(text)
                .contains("allReduce(float32 x 4, SUM)")
                .contains("GroupAbortedException")
                .contains("the group failed before");
    }

    @Test
    void asynchronousErrorFailsTheGroup() throws Exception {
        assertThat(reductions(Map.of("MOCK_NCCL_ASYNC_FAIL_AT", "2")))
                .contains("libnccl lost a peer: asynchronous error");
    }

    @Test
    void hangIsEndedByTheDeadline() throws Exception {
        assertThat(reductions(Map.of("MOCK_NCCL_HANG_AT", "2")))
                .contains("OperationTimeoutException")
                .contains("not complete after 12 s");
    }

    /** An error of a device comes out of every call from then on. */
    @ParameterizedTest
    @ValueSource(ints = {2, 4, 5})
    void deviceThatFailedForGoodFailsTheGroupAndLetsItClose(int operation) throws Exception {
        assertThat(reductions(Map.of("MOCK_RUNTIME_TASK_FAIL_AT", operation + ":700")))
                .contains("libcudart failed with code 700")
                .containsAnyOf("PeerLostException", "OperationTimeoutException")
                .doesNotContain("Exception in thread", "a rank failed");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 6, 8, 10})
    void failureOfTheCudaRuntimeIsNamedWhereverItHappens(int call) throws Exception {
        assertThat(reductions(Map.of("MOCK_RUNTIME_FAIL_AT", String.valueOf(call))))
                .containsAnyOf(
                        "libcudart failed with code 999",
                        "libnccl failed with code 1: ncclAllReduce: unhandled cuda error");
    }

    /** Otherwise the other rank would learn only that this one left the group. */
    @Test
    void failureBeforeTheLibraryIsCalledFailsTheGroup() throws Exception {
        assertThat(reductions(Map.of("MOCK_RUNTIME_FAIL_AT", "1")))
                .containsPattern("allReduce\\(.*libcudart failed with code 999: cudaEventRecord")
                .containsPattern("PeerLostException.* reported: libcudart failed with code 999")
                .doesNotContain("closed the group after");
    }

    /** Also if the library returns success and the address 0. */
    @ParameterizedTest
    @ValueSource(strings = {"1", "0"})
    void aFullDeviceIsAnOutOfMemoryError(String answer) throws Exception {
        assertThat(
                        ChildJvm.outputOf(
                                FullDevice.class,
                                Map.of("MOCK_NULL_MEMORY", answer),
                                "-Ddevice=cuda"))
                .contains("OutOfMemoryError: cudaMalloc")
                .contains(FullDevice.STILL_WORKS);
    }
}
