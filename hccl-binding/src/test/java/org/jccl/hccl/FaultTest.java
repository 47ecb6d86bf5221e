package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.HashMap;
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
                    Duration.ofSeconds(5),
                    HcclOptions.defaults(),
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                            reduce(group, tensor);
                        }
                    });
            System.out.println("all closed");
            // A device may still be stuck, which HCCL can not end.
            Runtime.getRuntime().halt(0);
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
        Map<String, String> all = new HashMap<>(environment);
        all.put("MOCK_DELAY_US", "0");
        Child.Result result = Child.run(ReduceOften.class, all);
        assertThat(result.code()).as(result.output()).isZero();
        assertThat(result.output())
                .contains("rank 0 is through", "rank 1 is through", "all closed");
        return result.output();
    }

    @Test
    void withoutFaultsNothingIsReported() throws Exception {
        assertThat(reduceOften(Map.of())).doesNotContain("Exception", "WARNING");
    }

    @ParameterizedTest
    @CsvSource({
        "2:4, 'libhccl failed with code 4: HcclAllReduce: internal error'",
        "2:5, 'the device or the installed CANN has no such operation'",
        "2:19, 'look at the network: HCCL_IF_IP'",
        "2:21, 'libhccl lost a peer: HcclAllReduce'",
        "2:9, 'libhccl ran out of time: HcclAllReduce: timeout'"
    })
    void failedCallPoisonsTheGroupWithItsCause(String fault, String text) throws Exception {
        assertThat(reduceOften(Map.of("MOCK_HCCL_FAIL_AT", fault)))
                .contains(text)
                .contains("allReduce(float32 x 4, SUM)")
                .contains("GroupAbortedException")
                .contains("the group failed before");
    }

    @Test
    void asynchronousErrorFailsTheGroup() throws Exception {
        assertThat(reduceOften(Map.of("MOCK_HCCL_ASYNC_FAIL_AT", "2")))
                .contains("libhccl lost a peer: asynchronous error");
    }

    @Test
    void hangIsEndedByTheDeadline() throws Exception {
        assertThat(reduceOften(Map.of("MOCK_HCCL_HANG_AT", "2")))
                .contains("OperationTimeoutException")
                .contains("not complete after PT5S");
    }

    @Test
    void destructionIsTriedAgainWhileHcclAsksForIt() throws Exception {
        assertThat(reduceOften(Map.of("MOCK_HCCL_DESTROY_AGAIN", "3")))
                .doesNotContain("Exception", "WARNING");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 6})
    void failureOfTheRuntimeIsNamedWhereverItHappens(int call) throws Exception {
        assertThat(reduceOften(Map.of("MOCK_RUNTIME_FAIL_AT", String.valueOf(call))))
                .containsAnyOf(
                        "libascendcl failed with code",
                        "libhccl failed with code",
                        "OperationTimeoutException");
    }
}
