package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

final class HcclOptionsTest {

    private static void refused(ThrowingCallable call, String text) {
        assertThatThrownBy(call)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("HCCL options: " + text);
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        HcclOptions none = HcclOptions.defaults();
        refused(() -> none.withBufferMegabytes(0), "bufferMegabytes");
        refused(() -> none.withSubGroupBufferMegabytes(0), "subGroupBufferMegabytes");
        refused(() -> none.withNetworkClasses(2, 0), "trafficClass");
        refused(() -> none.withNetworkClasses(256, 0), "trafficClass");
        refused(() -> none.withNetworkClasses(-4, 0), "trafficClass");
        refused(() -> none.withNetworkClasses(0, 8), "serviceLevel");
        refused(() -> none.withExecutionTimeout(Duration.ofMillis(1500)), "executionTimeout");
        refused(() -> none.withExecutionTimeout(Duration.ofDays(99999)), "executionTimeout");
        refused(() -> none.withExecutionTimeout(Duration.ofSeconds(-1)), "executionTimeout");
        refused(() -> none.withAlgorithm("x".repeat(1600)), "algorithm");
        refused(() -> none.withAlgorithm("\u00e9"), "algorithm");
    }

    @Test
    void rankTableAloneConfiguresNothing() {
        HcclOptions table = HcclOptions.defaults().withRankTable(Path.of("t.json"));
        assertThat(table.withBufferMegabytes(1).rankTable()).contains(Path.of("t.json"));
    }

    @Test
    void optionGoesBeforeTheVariable() {
        Map<String, String> environment = Map.of("RANK_TABLE_FILE", "/b.json");
        HcclOptions none = HcclOptions.defaults();
        assertThat(RankTableFile.of(none, Map.of())).isEmpty();
        assertThat(RankTableFile.of(none, environment)).contains(Path.of("/b.json"));
        assertThat(RankTableFile.of(none.withRankTable(Path.of("/a.json")), environment))
                .contains(Path.of("/a.json"));
    }
}
