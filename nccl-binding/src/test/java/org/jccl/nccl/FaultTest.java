package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.Work;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Failures of the vendor's libraries. */
final class FaultTest {

    /** Reduces three times on two ranks; prints what failed and what a later call says. */
    static final class ReduceOften {

        private static final int TIMES = 3;

        private ReduceOften() {}

        public static void main(String[] arguments) throws Exception {
            World.run(
                    2,
                    java.time.Duration.ofSeconds(3),
                    NcclOptions.defaults(),
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                            reduce(group, tensor);
                        }
                    });
        }

        private static void reduce(ProcessGroup group, Tensor tensor) {
            for (int i = 0; i < TIMES; i++) {
                try {
                    Work work = group.allReduce(tensor, ReduceOp.SUM);
                    work.synchronize();
                } catch (JcclException e) {
                    System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
                }
            }
            System.out.println("rank " + group.rank() + " is through");
        }
    }

    private static String reduceOften(Map<String, String> environment) throws Exception {
        Child.Result result = Child.run(ReduceOften.class, environment);
        assertThat(result.code()).as(result.output()).isZero();
        assertThat(result.output()).contains("rank 0 is through", "rank 1 is through");
        return result.output();
    }

    @Test
    void withoutFaultsNothingIsReported() throws Exception {
        assertThat(reduceOften(Map.of())).doesNotContain("Exception");
    }

    @ParameterizedTest
    @CsvSource({
        "2, 'libnccl failed with code 3: ncclAllReduce'",
        "2:4, 'libnccl failed with code 4'",
        "2:6, 'libnccl lost a peer: ncclAllReduce'",
        "2:8, 'libnccl ran out of time: ncclAllReduce: timeout'"
    })
    void failedCallPoisonsTheGroupWithItsCause(String fault, String text) throws Exception {
        assertThat(reduceOften(Map.of("MOCK_NCCL_FAIL_AT", fault)))
                .contains(text)
                .contains("allReduce(float32 x 4, SUM)")
                .contains("GroupAbortedException")
                .contains("the group failed before");
    }

    @Test
    void asynchronousErrorFailsTheGroup() throws Exception {
        assertThat(reduceOften(Map.of("MOCK_NCCL_ASYNC_FAIL_AT", "2")))
                .contains("libnccl lost a peer: asynchronous error");
    }

    @Test
    void hangIsEndedByTheDeadline() throws Exception {
        assertThat(reduceOften(Map.of("MOCK_NCCL_HANG_AT", "2")))
                .contains("OperationTimeoutException")
                .contains("not complete after PT3S");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 6, 8, 10})
    void failureOfTheCudaRuntimeIsNamedWhereverItHappens(int call) throws Exception {
        assertThat(reduceOften(Map.of("MOCK_RUNTIME_FAIL_AT", String.valueOf(call))))
                .containsAnyOf(
                        "libcudart failed with code 999",
                        "libnccl failed with code 1: ncclAllReduce: unhandled cuda error");
    }
}
