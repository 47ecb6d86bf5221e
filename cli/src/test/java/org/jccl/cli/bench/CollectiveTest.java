package org.jccl.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.jccl.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class CollectiveTest {

    @ParameterizedTest
    @CsvSource({
        "all_reduce,ALL_REDUCE",
        "allReduce,ALL_REDUCE",
        "all_reduce_perf,ALL_REDUCE",
        "alltoall,ALL_TO_ALL",
        "all_to_all_single,ALL_TO_ALL",
        "all_gather_into_tensor,ALL_GATHER",
        "reduce_scatter_tensor,REDUCE_SCATTER",
        "reduce-scatter,REDUCE_SCATTER",
        "sendrecv,SENDRECV",
        "pingpong,SENDRECV",
        "barrier,BARRIER"
    })
    void knowsTheNamesOfPyTorchAndNcclTests(String name, Collective collective) {
        assertThat(Collective.parse(name)).contains(collective);
    }

    @ParameterizedTest
    @CsvSource({"all_reduced", "''", "_", "hypercube"})
    void refusesOtherNames(String name) {
        assertThat(Collective.parse(name)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Collective.class)
    void readsItsOwnName(Collective collective) {
        assertThat(Collective.parse(collective.toString())).contains(collective);
    }

    @ParameterizedTest
    @CsvSource({
        "ALL_REDUCE,1.5",
        "ALL_GATHER,0.75",
        "REDUCE_SCATTER,0.75",
        "ALL_TO_ALL,0.75",
        "GATHER,0.75",
        "SCATTER,0.75",
        "BROADCAST,1",
        "REDUCE,1",
        "SENDRECV,2",
        "BARRIER,0"
    })
    void busFactorsOfFourRanks(Collective collective, double factor) {
        assertThat(collective.busFactor(4)).isEqualTo(factor, within(1e-12));
    }

    @Test
    void aSizeIsTheWholeBufferOfAllRanksParts() {
        assertThat(Collective.ALL_REDUCE.count(1024, DataType.FLOAT32, 4)).isEqualTo(256);
        assertThat(Collective.ALL_REDUCE.bytes(256, DataType.FLOAT32, 4)).isEqualTo(1024);
        assertThat(Collective.ALL_GATHER.count(1024, DataType.FLOAT32, 4)).isEqualTo(64);
        assertThat(Collective.ALL_GATHER.bytes(64, DataType.FLOAT32, 4)).isEqualTo(1024);
        assertThat(Collective.ALL_GATHER.count(1030, DataType.FLOAT64, 3)).isEqualTo(42);
        assertThat(Collective.BARRIER.count(1024, DataType.FLOAT32, 4)).isZero();
    }

    @Test
    void aSizeTooSmallToShareGivesEachRankOneElement() {
        assertThat(Collective.ALL_GATHER.count(4, DataType.FLOAT32, 4)).isEqualTo(1);
        assertThat(Collective.ALL_GATHER.bytes(1, DataType.FLOAT32, 4)).isEqualTo(16);
        assertThat(Collective.ALL_REDUCE.count(4, DataType.FLOAT64, 4)).isEqualTo(1);
    }
}
