package org.jccl.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A short soak with fixed seeds, and that it would find something. */
class SoakTest {

    @TempDir private Path output;

    @Test
    void aShortSoakFindsNothing() throws IOException {
        int code =
                Soak.run(
                        "2",
                        "--seed=20261122",
                        "--cases=4",
                        "--backend=gloo,nccl,hccl,sccl",
                        "--fault=none",
                        "--ranks=3",
                        "--steps=60",
                        "--root=../..",
                        "--output=" + output);
        assertThat(Files.readString(output.resolve("table.md")))
                .contains(
                        "| gloo | none | 1 |",
                        "| nccl | none | 1 |",
                        "| hccl | none | 1 |",
                        "| sccl | none | 1 |");
        assertThat(code).isZero();
    }

    /** Which rank a survivor names depends on what it hears first, and is for longer runs. */
    @Test
    void survivorsOfAKilledRankGoOn() throws IOException {
        Soak.run(
                "2",
                "--seed=20261122",
                "--cases=1",
                "--backend=gloo",
                "--fault=kill",
                "--ranks=3",
                "--root=../..",
                "--output=" + output);
        assertThat(Files.readString(output.resolve("table.md"))).contains("| gloo | kill | 1 |");
        assertThat(Files.readString(output.resolve("summary.json")))
                .contains("\"regrouped\" : 1")
                .doesNotContain("\"wrong\"", "\"hang\"", "\"crash\"", "\"broken\"");
    }

    @Test
    void aWrongElementIsFound() {
        try (Block block = new Block(Device.CPU, DataType.INT16, 1, 4, 3)) {
            block.set(1, new byte[] {1, 0, 2, 0, 3, 0}).write();
            assertThat(block.difference()).isEmpty();
            block.part(1).copyFrom(new short[] {1, 2, 4});
            assertThat(block.difference())
                    .hasValueSatisfying(
                            text ->
                                    assertThat(text)
                                            .contains("tensor 1 of 2", "element 2", "0x0004"));
        }
    }

    @Test
    void aFindingHasTheWholeCommandThatRepeatsIt() {
        Tally tally = new Tally(" --fault close --ranks 3");
        tally.foundInWorld(Backend.NCCL, Fault.CLOSE, 42, "late", "rank 1");
        assertThat(tally.findings().get(0).text())
                .isEqualTo(
                        "rank 1; repeat it by script/soak 1 --backend nccl --fault close --ranks 3"
                                + " --case-seed 42");
    }

    @Test
    void whatAProcessHoldsMoreOfIsFound() {
        List<Resources> flat =
                IntStream.range(0, 40)
                        .mapToObj(i -> new Resources(1000, 1000, 20 + i % 2, 30))
                        .toList();
        List<Resources> growing =
                IntStream.range(0, 40)
                        .mapToObj(i -> new Resources(1000, 1000, 20, 30 + i / 4))
                        .toList();
        assertThat(Leaks.grew(flat)).isFalse();
        assertThat(Leaks.grew(growing)).isTrue();
    }
}
