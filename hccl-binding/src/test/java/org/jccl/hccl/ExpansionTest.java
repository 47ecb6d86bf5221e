package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.hccl.HcclOptions.Expansion;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;

/** Ascend 950 expands no operation on the host; HCCL answers only a number, and fails the group. */
class ExpansionTest {

    /** Forms a world of one rank with the expansion that the argument names, if any. */
    static final class Alone {
        private Alone() {}

        public static void main(String[] arguments) {
            HcclOptions.Builder options = HcclOptions.builder();
            String given = System.getProperty("expansion", "");
            if (!given.isEmpty()) {
                options.expansion(Expansion.valueOf(given));
            }
            try (ProcessGroup world = new HcclBackend(options.build()).alone()) {
                System.out.println("formed on " + world.devices());
            } catch (UsageException e) {
                System.out.println("refused: " + e.getMessage());
            }
        }
    }

    private static String outcome(String chip, String mode, String option) throws Exception {
        return ChildJvm.outputOf(
                Alone.class,
                Map.of("MOCK_HCCL_CHIP", chip, "HCCL_OP_EXPANSION_MODE", mode),
                "-Dexpansion=" + option);
    }

    @Test
    void theHostIsRefusedOnAscend950() throws Exception {
        assertThat(outcome("A5", "", "HOST"))
                .contains("refused: ")
                .contains("expansion HOST: Ascend 950 does not expand operations on the host");
        assertThat(outcome("A5", "HOST_TS", ""))
                .contains("refused: ")
                .contains("HCCL_OP_EXPANSION_MODE=HOST_TS: Ascend 950");
        assertThat(outcome("A5", "AI_CPU", "CCU_MS")).contains("formed on ");
    }

    @Test
    void itIsAChoiceOnOtherChips() throws Exception {
        assertThat(outcome("A2", "HOST", "HOST")).contains("formed on ");
    }
}
