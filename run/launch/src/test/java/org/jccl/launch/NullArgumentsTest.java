package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

final class NullArgumentsTest {

    @Test
    void aRankFailureKnowsAllOfItself() {
        assertThatThrownBy(() -> new RankFailure(0, null, 1, 1, List.of(), Optional.empty()))
                .isInstanceOf(UsageException.class)
                .hasMessage("host is null");
        assertThatThrownBy(() -> new RankFailure(0, "h", 1, 1, null, Optional.empty()))
                .isInstanceOf(UsageException.class)
                .hasMessage("lines is null");
        List<String> holes = Arrays.asList("a", null);
        assertThatThrownBy(() -> new RankFailure(0, "h", 1, 1, holes, Optional.empty()))
                .isInstanceOf(UsageException.class)
                .hasMessage("line is null");
        assertThatThrownBy(() -> new RankFailure(0, "h", 1, 1, List.of(), null))
                .isInstanceOf(UsageException.class)
                .hasMessage("crash report is null");
    }

    @Test
    void outputGoesSomewhere() {
        assertThatThrownBy(() -> OutputHandler.prefixed(null, System.err))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> OutputHandler.prefixed(System.out, null))
                .isInstanceOf(UsageException.class);
    }
}
