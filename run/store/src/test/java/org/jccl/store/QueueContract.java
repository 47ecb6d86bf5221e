package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

/** What every kind of store with queues does. */
abstract class QueueContract extends StoreContract {

    @Test
    void queueIsFirstInFirstOut() {
        store.queuePush("q", bytes("x1"));
        store.queuePush("q", new byte[0]);
        store.queuePush("q", bytes("x3"));
        assertThat(store.queueLength("q")).isEqualTo(3);
        assertThat(store.queuePop("q")).isEqualTo(bytes("x1"));
        assertThat(store.queuePoll("q")).hasValueSatisfying(v -> assertThat(v).isEmpty());
        assertThat(store.queuePop("q")).isEqualTo(bytes("x3"));
        assertThat(store.queuePoll("q")).isEmpty();
        assertThat(store.queueLength("q")).isZero();
        assertThat(store.queueLength("never used")).isZero();
    }

    @Test
    void queuesLiveBesideKeys() {
        long before = store.keyCount();
        store.set("both", bytes("key"));
        store.queuePush("both", bytes("queue"));
        store.queuePush("q", bytes("x"));
        assertThat(store.check(List.of("q", "both"))).isTrue();
        store.await(List.of("q"), Duration.ZERO);
        assertThat(store.keyCount()).isEqualTo(before + 1);
        assertThat(store.listKeys()).contains("both").doesNotContain("q");
        assertThat(store.deleteKey("both")).isTrue();
        assertThat(store.queuePop("both")).isEqualTo(bytes("queue"));
        assertThat(store.check(List.of("both"))).isFalse();
    }

    @Test
    void popTimesOut() throws Exception {
        Store impatient = open(SHORT);
        assertThatThrownBy(() -> impatient.queuePop("empty"))
                .isInstanceOf(StoreTimeoutException.class)
                .hasMessageContaining("empty");
        impatient.set("a key is no queue", bytes("v"));
        assertThatThrownBy(() -> impatient.queuePop("a key is no queue"))
                .isInstanceOf(StoreTimeoutException.class);
        store.queuePush("empty", bytes("now"));
        store.queueLength("empty");
        assertThat(impatient.queuePop("empty")).isEqualTo(bytes("now"));
    }

    @Test
    void twoThreadsExchangeBothWays() throws Exception {
        Store other = open(LONG);
        Future<?> echo =
                asyncRun(
                        () -> {
                            for (int i = 0; i < 30; i++) {
                                other.queuePush("back", other.queuePop("there"));
                            }
                        });
        for (int i = 0; i < 30; i++) {
            store.queuePush("there", bytes("m" + i));
            assertThat(store.queuePop("back")).isEqualTo(bytes("m" + i));
        }
        join(echo);
    }

    @Test
    void eachValueGoesToOnePopper() throws Exception {
        List<Future<byte[]>> popping = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Store popper = open(LONG);
            popping.add(async(() -> popper.queuePop("q")));
        }
        for (int i = 0; i < 4; i++) {
            store.queuePush("q", bytes("" + i));
        }
        List<String> got = new ArrayList<>();
        for (Future<byte[]> each : popping) {
            got.add(new String(join(each)));
        }
        assertThat(got).containsExactlyInAnyOrder("0", "1", "2", "3");
    }

    @Test
    void refusesWrongQueueArguments() {
        assertThatThrownBy(() -> store.queuePush(null, new byte[0]))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> store.queuePush("q", null)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> store.queuePop(null)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> store.queuePoll(null)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> store.queueLength(null)).isInstanceOf(UsageException.class);
    }
}
