package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The memory of a device that communicators take for themselves. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class BuffersTest {

    /**
     * Room for a world and 16 groups of the default sizes, but not for five groups like the world.
     */
    private static final String DEVICE_MEGABYTES = "2048";

    /** Uses as many groups as the device has room for. */
    static final class Groups {

        private static final int GROUPS = 16;

        private Groups() {}

        public static void main(String[] arguments) {
            OptionalInt megabytes =
                    Stream.ofNullable(Integer.getInteger("megabytes")).mapToInt(i -> i).findAny();
            HcclOptions options =
                    megabytes.isPresent()
                            ? HcclOptions.builder()
                                    .subGroupBufferMegabytes(megabytes.getAsInt())
                                    .build()
                            : HcclOptions.defaults();
            int used = 0;
            try {
                ProcessGroup world = new HcclBackend(options).alone();
                Tensor tensor = Tensor.allocate(World.NPU, DataType.FLOAT32, 1);
                world.allReduce(tensor, ReduceOp.SUM).synchronize();
                while (used < GROUPS) {
                    ProcessGroup part = world.split(0, 0).orElseThrow();
                    part.allReduce(tensor, ReduceOp.SUM).synchronize();
                    used++;
                }
            } catch (JcclException e) {
                System.out.println(e.getMessage());
            }
            System.out.println(used + " groups");
            Runtime.getRuntime().halt(0);
        }
    }

    private static String groups(Map<String, String> environment, String... arguments)
            throws Exception {
        Map<String, String> all = new HashMap<>(environment);
        all.put("MOCK_MEMORY_MB", DEVICE_MEGABYTES);
        String[] properties = Arrays.copyOf(arguments, arguments.length + 1);
        properties[arguments.length] = "-Dorg.jccl.conformance.slowness=3";
        return ChildJvm.outputOf(Groups.class, all, properties);
    }

    @Test
    void manySubGroupsFitIntoADevice() throws Exception {
        assertThat(groups(Map.of())).contains(Groups.GROUPS + " groups").doesNotContain("libhccl");
    }

    @Test
    void aFullDeviceNamesTheOptions() throws Exception {
        assertThat(groups(Map.of(), "-Dmegabytes=200"))
                .contains("4 groups", "libhccl failed with code 2: HcclAllReduce")
                .contains("no memory", "subGroupBufferMegabytes", "HCCL_BUFFSIZE");
    }

    @Test
    void theSizeOfTheEnvironmentIsForSubGroupsToo() throws Exception {
        assertThat(groups(Map.of("HCCL_BUFFSIZE", "100"))).contains("9 groups");
    }

    /** The mock forms nothing with a list of hosts, as a release whose list is on by default. */
    @Test
    void aListOfHostsThatIsWantedIsLeftToHccl() throws Exception {
        assertThat(groups(Map.of("HCCL_WHITELIST_DISABLE", "0")))
                .contains("0 groups", "HCCL_WHITELIST_DISABLE is not 1");
    }
}
