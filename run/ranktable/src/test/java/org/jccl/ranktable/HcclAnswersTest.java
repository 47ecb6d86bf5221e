package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** This parser and Huawei's say the same of some 16,000 tables. */
class HcclAnswersTest {

    /** Where this parser is stricter on purpose: the end of the place, the change, and why. */
    private record Stricter(String place, String change, String reason) {

        boolean covers(HcclAnswers.Case each) {
            return each.place().matches(".*(" + place + ")")
                    && each.change().matches(".* to (" + change + ")|left out");
        }
    }

    private static final List<Stricter> REASONS =
            List.of(
                    new Stricter(
                            "_id|_count|_num|_port",
                            "\"(1\\.5|\\+1|01| 1|1 |1DMESH|[0-9]+\\..*)\"",
                            "HCCL takes the digits that a text begins with: a typing mistake"),
                    new Stricter(
                            "device_id|local_id|server_id",
                            "\"?(0|1|8|15|10.0.0.1)\"?|the number [01]",
                            "two ranks on one device"),
                    new Stricter(
                            "instance_list\\[.\\].devices\\[.\\].device_id",
                            "\"[0-9]+\"",
                            "no such device exists; only HCCL's other parser looks"),
                    new Stricter("device_ip", ".*", "neither an address nor an empty text"),
                    new Stricter("super_device_id", "\"4294967295\"", "not a device of a pod"),
                    new Stricter("status", ".*", "HCCL looks for \"initializing\" only"),
                    new Stricter(".*", "\" \"", "a blank name"),
                    new Stricter(
                            "_id|_count|_port|net_layer", "true|the number 1.5", "no whole number"),
                    new Stricter("level_list(\\[0\\])?", "an empty array", "in no network"));

    static List<String> tables() {
        return HcclAnswers.TABLES;
    }

    @ParameterizedTest
    @MethodSource("tables")
    void noTableThatHcclRefusesPasses(String table) {
        List<String> passed = new ArrayList<>();
        compare(
                table,
                (each, ours, theirs) -> {
                    if ((theirs & ~ours) != 0) {
                        passed.add(each + ": HCCL refuses on " + theirs + ", we on " + ours);
                    }
                });
        assertThat(passed).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("tables")
    void whatHcclTakesIsRefusedForAReason(String table) {
        List<String> refused = new ArrayList<>();
        compare(
                table,
                (each, ours, theirs) -> {
                    if ((ours & ~theirs) != 0
                            && REASONS.stream().noneMatch(why -> why.covers(each))) {
                        refused.add(each + ": HCCL refuses on " + theirs + ", we on " + ours);
                    }
                });
        assertThat(refused).isEmpty();
    }

    private interface Difference {
        void accept(HcclAnswers.Case each, int ours, int theirs);
    }

    private static void compare(String table, Difference difference) {
        List<HcclAnswers.Case> cases = HcclAnswers.cases(table);
        List<Integer> answers = HcclAnswers.answers(table);
        assertThat(answers).hasSameSizeAs(cases);
        boolean layers = cases.get(0).text().contains("rank_list");
        for (int i = 0; i < cases.size(); i++) {
            difference.accept(cases.get(i), ours(cases.get(i).text(), layers), answers.get(i));
        }
    }

    private static int ours(String text, boolean layers) {
        List<AscendChip> chips =
                Arrays.stream(AscendChip.values())
                        .filter(chip -> layers == (chip == AscendChip.ASCEND_950))
                        .toList();
        try {
            RankTable table = RankTable.parse(text);
            return digit(chips.stream().filter(chip -> !table.faultsOn(chip).isEmpty()));
        } catch (RankTableException e) {
            return digit(chips.stream());
        }
    }

    private static int digit(Stream<AscendChip> refusing) {
        return refusing.mapToInt(chip -> 1 << chip.ordinal()).sum();
    }
}
