package org.jccl.internal.group;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SplitAgreementTest {

    private static final Runnable USABLE = () -> {};

    @Test
    void whoDoesNotComeIsNamed() {
        Store store = HashStore.create(enough(Duration.ofSeconds(30)));
        FailureContext zero = FailureContext.ofGroup("g", 0);
        FailureContext two = FailureContext.ofGroup("g", 2);
        assertThatThrownBy(
                        () ->
                                new SplitAgreement(store, "s/", two, 4)
                                        .enter(0, 0, Duration.ZERO, USABLE))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [0, 1, 3] of 4 have not arrived");
        assertThatThrownBy(
                        () ->
                                new SplitAgreement(store, "s/", zero, 4)
                                        .enter(0, 0, Duration.ZERO, USABLE))
                .hasMessageContaining("ranks [1, 3] of 4 have not arrived");
    }

    /** Other processes wrote it, or another job that uses the same store. */
    @ParameterizedTest
    @ValueSource(strings = {"", "x", "1", "1 x", "1 2 3", "99999999999 0", "\0 0"})
    void whatNoRankTellsIsNamed(String told) {
        Store store = HashStore.create(enough(Duration.ofSeconds(30)));
        store.set("s/1", told.getBytes(StandardCharsets.UTF_8));
        FailureContext zero = FailureContext.ofGroup("g", 0);
        assertThatThrownBy(
                        () ->
                                new SplitAgreement(store, "s/", zero, 2)
                                        .enter(0, 0, enough(Duration.ofSeconds(30)), USABLE))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("group 'g', rank 0")
                .hasMessageContaining("key s/1 of rank 1");
    }
}
