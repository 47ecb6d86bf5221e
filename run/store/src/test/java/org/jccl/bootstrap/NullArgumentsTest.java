package org.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

final class NullArgumentsTest {

    @Test
    void launchersReadAnEnvironment() {
        assertThatThrownBy(() -> ClusterEnvironment.readFirst(null))
                .isInstanceOf(UsageException.class);
        for (ClusterEnvironment launcher : ClusterEnvironment.known()) {
            assertThatThrownBy(() -> launcher.detect(null)).isInstanceOf(UsageException.class);
            assertThatThrownBy(() -> launcher.read(null)).isInstanceOf(UsageException.class);
        }
    }
}
