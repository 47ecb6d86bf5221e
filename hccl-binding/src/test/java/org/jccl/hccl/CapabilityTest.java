package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.junit.jupiter.api.Test;

/** The guide's table of reductions is what the code allows. */
final class CapabilityTest {

    private static final Path GUIDE = Path.of("..", "docs", "backends", "hccl.md");
    private static final String BEGIN = "<!-- reductions: written by CapabilityTest -->\n";
    private static final String END = "<!-- end of reductions -->\n";

    private static final List<ReduceOp> OPS =
            List.of(
                    ReduceOp.SUM,
                    ReduceOp.PRODUCT,
                    ReduceOp.MIN,
                    ReduceOp.MAX,
                    ReduceOp.AVG,
                    ReduceOp.premulSum(2),
                    ReduceOp.BAND,
                    ReduceOp.BOR,
                    ReduceOp.BXOR);

    private static final List<Chip> CHIPS =
            List.of(Chip.ASCEND_950, Chip.ASCEND_910_93, Chip.ASCEND_910B, Chip.ASCEND_910);

    private static String table() {
        StringBuilder text = new StringBuilder("| type |");
        OPS.forEach(op -> text.append(' ').append(op.kind()).append(" |"));
        text.append("\n|---|").append("---|".repeat(OPS.size())).append('\n');
        for (DataType type : DataType.values()) {
            text.append("| ").append(type).append(" |");
            OPS.forEach(op -> text.append(' ').append(cell(op, type)).append(" |"));
            text.append('\n');
        }
        return text.toString();
    }

    private static String cell(ReduceOp op, DataType type) {
        List<String> able = new ArrayList<>();
        boolean needsOperators = false;
        for (Chip chip : CHIPS) {
            if (HcclTypes.reduces(chip, op, type, true)) {
                able.add(nameOf(chip));
                needsOperators |= !HcclTypes.reduces(chip, op, type, false);
            }
        }
        if (able.isEmpty()) {
            return "";
        }
        String chips = able.size() == CHIPS.size() ? "all" : String.join(" ", able);
        return needsOperators ? chips + " \\*" : chips;
    }

    private static String nameOf(Chip chip) {
        return switch (chip) {
            case ASCEND_950 -> "950";
            case ASCEND_910_93 -> "A3";
            case ASCEND_910B -> "A2";
            case ASCEND_910 -> "910";
            case OTHER -> throw new IllegalArgumentException("not in the table");
        };
    }

    @Test
    void guideHasTheTable() throws Exception {
        String guide = Files.readString(GUIDE);
        assertThat(guide).contains(BEGIN, END);
        String written = guide.substring(guide.indexOf(BEGIN) + BEGIN.length(), guide.indexOf(END));
        assertThat(written).as("%s must have this table:\n%s", GUIDE, table()).isEqualTo(table());
    }

    @Test
    void unknownChipsAreTriedAsMostAre() {
        String able =
                Arrays.stream(DataType.values())
                        .filter(type -> Chip.OTHER.reduces(ReduceOp.Kind.SUM, type))
                        .map(DataType::toString)
                        .collect(Collectors.joining(" "));
        assertThat(able).isEqualTo("int8 int16 int32 int64 float16 bfloat16 float32");
    }
}
