package org.jccl.internal.engine;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

class TimeoutsTest {

    @Test
    void whatIsNoTimeIsRefused() {
        assertThatThrownBy(() -> Timeouts.deadline(null))
                .isInstanceOf(UsageException.class)
                .hasMessage("timeout is null");
        assertThatThrownBy(() -> Timeouts.deadline(Duration.ofSeconds(-5)))
                .isInstanceOf(UsageException.class)
                .hasMessage("timeout must not be negative, got -5 s");
    }
}
