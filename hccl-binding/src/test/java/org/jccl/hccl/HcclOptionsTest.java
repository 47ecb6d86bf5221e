package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.hccl.HcclOptions.builder;

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
        refused(builder().bufferMegabytes(0)::build, "bufferMegabytes");
        refused(builder().subGroupBufferMegabytes(0)::build, "subGroupBufferMegabytes");
        refused(builder().trafficClass(2)::build, "trafficClass");
        refused(builder().trafficClass(256)::build, "trafficClass");
        refused(builder().trafficClass(-4)::build, "trafficClass");
        refused(builder().serviceLevel(8)::build, "serviceLevel");
        refused(builder().executionTimeout(Duration.ofMillis(1500))::build, "executionTimeout");
        refused(builder().executionTimeout(Duration.ofDays(99999))::build, "executionTimeout");
        refused(builder().executionTimeout(Duration.ofSeconds(-1))::build, "executionTimeout");
        refused(builder().algorithm("x".repeat(1600))::build, "algorithm");
        refused(builder().algorithm("\u00e9")::build, "algorithm");
    }

    @Test
    void rankTableAloneConfiguresNothing() {
        HcclOptions.Builder table = builder().rankTable(Path.of("t.json"));
        assertThat(table.bufferMegabytes(1).build().rankTable()).contains(Path.of("t.json"));
    }

    @Test
    void optionGoesBeforeTheVariable() {
        Map<String, String> environment = Map.of("RANK_TABLE_FILE", "/b.json");
        HcclOptions none = HcclOptions.defaults();
        assertThat(RankTableFile.of(none, Map.of())).isEmpty();
        assertThat(RankTableFile.of(none, environment)).contains(Path.of("/b.json"));
        assertThat(RankTableFile.of(builder().rankTable(Path.of("/a.json")).build(), environment))
                .contains(Path.of("/a.json"));
    }
}
