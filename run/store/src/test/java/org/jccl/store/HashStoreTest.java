package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.jccl.Store;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

final class HashStoreTest extends QueueContract {

    private final HashStore first = HashStore.create(LONG);

    @Override
    Store connect(Duration timeout) {
        return first.duplicate(timeout);
    }

    @Test
    void refusesToGrowAValueBeyondTheLimit() {
        store.append("a", new byte[StoreArguments.MAX_VALUE_BYTES]);
        assertThatThrownBy(() -> store.append("a", new byte[1]))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("append");
    }
}
