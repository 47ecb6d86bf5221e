package org.jccl.internal.group;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

class SplitAgreementTest {

    @Test
    void whoDoesNotComeIsNamed() {
        Store store = HashStore.create(Duration.ofSeconds(30));
        FailureContext zero = FailureContext.ofGroup("g", 0);
        FailureContext two = FailureContext.ofGroup("g", 2);
        assertThatThrownBy(() -> new SplitAgreement(store, "s/", two, 4).enter(0, 0, Duration.ZERO))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("missing are [0, 1, 3]");
        assertThatThrownBy(
                        () -> new SplitAgreement(store, "s/", zero, 4).enter(0, 0, Duration.ZERO))
                .hasMessageContaining("missing are [1, 3]");
    }
}
