package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Many tables by chance; the seed is in the message of what fails. */
class RankTableGenerativeTest {

    private static final int VALID = 500;
    private static final int DAMAGED = 3000;

    static List<Path> examples() {
        return Examples.files();
    }

    @Test
    void whatIsMadeIsRead() {
        for (long seed = 0; seed < VALID; seed++) {
            RankTable table = new Tables(seed).valid();
            RankTable again = RankTable.parse(table.toJson());
            assertThat(again).as("seed %s", seed).isEqualTo(table);
            assertThat(again.toJson()).as("seed %s", seed).isEqualTo(table.toJson());
        }
    }

    @Test
    void conversionKeepsRanksAndDevices() {
        for (long seed = 0; seed < VALID; seed++) {
            RankTable table = new Tables(seed).valid();
            RankTable sccl = table.convertTo(RankTableFormat.SCCL_1_0);
            assertThat(sccl.chipMap()).as("seed %s", seed).isEqualTo(table.chipMap());
            for (int rank = 0; rank < table.size(); rank++) {
                assertThat(sccl.localRank(rank)).isEqualTo(table.localRank(rank));
                assertThat(sccl.node(rank)).isEqualTo(table.node(rank));
                assertThat(sccl.entry(rank).deviceIps())
                        .isEqualTo(
                                table.format() == RankTableFormat.HCCL_2_0
                                        ? List.of()
                                        : table.entry(rank).deviceIps());
            }
        }
    }

    @ParameterizedTest
    @MethodSource("examples")
    void damagedTablesAreReadOrExplained(Path file) {
        String text = Examples.text(file.getFileName().toString());
        int refused = 0;
        for (long seed = 0; seed < DAMAGED; seed++) {
            String damaged = new Tables(seed).damaged(text);
            try {
                TableContract.check(damaged);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ": " + damaged, e);
            }
            refused += TableContract.isRefused(damaged) ? 1 : 0;
        }
        assertThat(refused).isBetween(DAMAGED / 10, DAMAGED - 1);
    }
}
