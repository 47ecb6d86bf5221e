package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** How much memory an operation's intermediate results take. */
@Execution(ExecutionMode.CONCURRENT)
final class DeviceScratchTest {

    /** Needs more and more memory, on a device that has 300 MB. */
    static final class Growing {

        private static final long MEGABYTE = 1 << 20;

        private Growing() {}

        public static void main(String[] arguments) {
            assertThat(HcclLibraries.get().availability().isAvailable()).isTrue();
            CannRuntime runtime = HcclLibraries.get().runtime();
            runtime.setDevice(0);
            long stream = runtime.createStream(false);
            DeviceScratch scratch = new DeviceScratch(runtime);
            for (long megabytes : List.of(70L, 75L, 80L, 145L)) {
                scratch.take(megabytes * MEGABYTE, stream);
                scratch.release(stream);
                runtime.synchronizeStream(stream);
            }
            scratch.close();
            System.out.println("enough");
        }
    }

    /** Doubled, or kept until the end, the pieces are more than the device has. */
    @Test
    void largeMemoryGrowsByWhatIsNeededAndIsFreedAfterItsUse() throws Exception {
        assertThat(ChildJvm.outputOf(Growing.class, Map.of("MOCK_MEMORY_MB", "300")))
                .contains("enough");
    }
}
