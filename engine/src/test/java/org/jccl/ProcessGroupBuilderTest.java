package org.jccl;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProcessGroupBuilderTest {

    private final ProcessGroupBuilder builder = ProcessGroup.builder();

    @Test
    void nothingMayBeNull() {
        List<ThrowingCallable> calls =
                List.of(
                        () -> ProcessGroup.init(null),
                        () -> builder.backend(null),
                        () -> builder.initMethod(null),
                        () -> builder.store(null),
                        () -> builder.interop(null),
                        () -> builder.timeout(null),
                        () -> builder.device(null),
                        () -> builder.options(null),
                        () -> Device.parse(null));
        for (ThrowingCallable call : calls) {
            assertThatThrownBy(call)
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("null");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "a,b", "a,cpu:b", ":a", "cpu:"})
    void backendsAreANameOrPairs(String names) {
        ProcessGroupBuilder named = builder.backend(names).timeout(enough(Duration.ofSeconds(1)));
        assertThatThrownBy(named::build)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("must be a name or pairs")
                .hasMessageContaining("'" + names + "'");
    }
}
