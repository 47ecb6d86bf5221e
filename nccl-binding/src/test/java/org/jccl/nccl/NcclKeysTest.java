package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.Interop;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NcclKeysTest {

    @Test
    void aPairIsNamedFromTheLowerRank() {
        assertThat(NcclKeys.pair(3, 1)).isEqualTo("1:3").isEqualTo(NcclKeys.pair(1, 3));
    }

    @ParameterizedTest
    @CsvSource({
        "128, , 1",
        "129, , 2",
        "257, , 3",
        "4, 2, 2",
        "5, ' 2 ', 3",
        "129, x, 2",
        "9, 0, 1"
    })
    void thereIsAnIdForEachBlockOfRanks(int size, String variable, int ids) {
        assertThat(NcclKeys.roots(size, variable)).isEqualTo(ids);
    }

    @ParameterizedTest
    @CsvSource({"7, 3, '0 3 5'", "129, 2, '0 65'", "4, 2, '0 2'", "3, 2, '0 2'", "5, 1, '0'"})
    void theFirstRankOfABlockMakesItsId(int size, int ids, String roots) {
        List<Integer> makers =
                IntStream.range(0, size)
                        .filter(rank -> NcclIds.rootIndex(rank, size, ids) >= 0)
                        .boxed()
                        .toList();
        assertThat(makers)
                .isEqualTo(Arrays.stream(roots.split(" ")).map(Integer::valueOf).toList());
        for (int i = 0; i < ids; i++) {
            assertThat(NcclIds.rootIndex(makers.get(i), size, ids)).isEqualTo(i);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "nccl, TORCH, TORCH",
        "nccl, TORCH_EAGER, TORCH_EAGER",
        "nccl, TORCH_2_15, TORCH_2_15",
        "nccl-legacy, TORCH, TORCH",
        "nccl-legacy, TORCH_EAGER, TORCH_EAGER",
        "nccl-legacy, TORCH_2_15, TORCH",
        "nccl2, TORCH, TORCH_2_14_OPT_IN",
        "nccl2, TORCH_2_14_OPT_IN, TORCH_2_14_OPT_IN",
        "nccl2, TORCH_2_15, TORCH_2_15"
    })
    void pytorchsNamesOfTheBackendSayWhichItIs(String name, Interop given, Interop meant) {
        assertThat(new NcclProvider().named(name, given)).contains(meant);
    }

    @Test
    void withoutPytorchThereIsOneName() {
        NcclProvider nccl = new NcclProvider();
        assertThat(nccl.named("nccl", Interop.NONE)).contains(Interop.NONE);
        assertThat(nccl.named("nccl2", Interop.NONE)).isEmpty();
        assertThat(nccl.named("gloo", Interop.TORCH)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"nccl-lazy, TORCH, messages", "nccl2, TORCH_EAGER, device_id"})
    void ranksThatCannotBeJoinedAreRefusedByName(String name, Interop interop, String why) {
        assertThatThrownBy(() -> new NcclProvider().named(name, interop))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(name)
                .hasMessageContaining(why);
    }
}
