package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;

/** What holds for any text. */
final class TableContract {

    private TableContract() {}

    /** Either the text is a table that keeps all promises, or every fault says where it is. */
    static void check(String text) {
        RankTable table;
        try {
            table = RankTable.parse(text);
        } catch (RankTableException refused) {
            assertThat(refused.faults()).isNotEmpty();
            assertThat(refused.faults())
                    .allSatisfy(
                            fault -> {
                                assertThat(fault.path()).startsWith("$");
                                assertThat(fault.line()).isPositive();
                                assertThat(fault.column()).isPositive();
                                assertThat(fault.message()).isNotBlank();
                            });
            return;
        }
        checkPlaces(table);
        RankTable again = RankTable.parse(table.toJson());
        assertThat(again).isEqualTo(table);
        assertThat(again.toJson()).isEqualTo(table.toJson());
    }

    static boolean isRefused(String text) {
        try {
            RankTable.parse(text);
            return false;
        } catch (RankTableException refused) {
            return true;
        }
    }

    private static void checkPlaces(RankTable table) {
        assertThat(table.size()).isPositive();
        assertThat(table.nodeCount()).isBetween(1, table.size());
        Set<String> devices = new HashSet<>();
        for (int rank = 0; rank < table.size(); rank++) {
            RankEntry entry = table.entry(rank);
            assertThat(entry.rank()).isEqualTo(rank);
            assertThat(entry.device()).isNotNegative();
            assertThat(devices.add(entry.node() + ":" + entry.device())).isTrue();
            assertThat(table.ranksOf(entry.node()).get(entry.localRank())).isEqualTo(rank);
        }
    }
}
