package org.jccl.internal.engine;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

class DeadlineTest {

    @Test
    void whatIsNoTimeIsRefused() {
        assertThatThrownBy(() -> Deadline.after(null))
                .isInstanceOf(UsageException.class)
                .hasMessage("timeout is null");
        assertThatThrownBy(() -> Deadline.after(Duration.ofSeconds(-5)))
                .isInstanceOf(UsageException.class)
                .hasMessage("timeout must not be negative, got -5 s");
    }
}
