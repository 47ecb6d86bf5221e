package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jccl.Store;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

/** What the base makes of the least that a service has. */
final class AbstractStoreTest extends StoreContract {

    private static final int MAX = 1 << 16;

    /** A service in the memory of this process, whose lock is this map. */
    private final Map<String, byte[]> service = new TreeMap<>();

    private final class Client extends AbstractStore {

        private boolean closed;

        Client(Duration timeout) {
            super(timeout);
        }

        private void requireOpen() {
            if (closed) {
                throw closed();
            }
        }

        @Override
        protected byte[] change(String key, UnaryOperator<byte[]> change) {
            synchronized (service) {
                requireOpen();
                byte[] before = service.get(key);
                // As where another client was faster.
                change.apply(before);
                byte[] after = change.apply(before);
                if (after != before) {
                    service.put(key, after);
                    service.notifyAll();
                }
                return after;
            }
        }

        @Override
        protected void write(List<String> keys, List<byte[]> values) {
            synchronized (service) {
                requireOpen();
                for (int i = 0; i < keys.size(); i++) {
                    service.put(keys.get(i), values.get(i).clone());
                }
                service.notifyAll();
            }
        }

        @Override
        protected List<byte[]> read(List<String> keys) {
            synchronized (service) {
                requireOpen();
                List<byte[]> values = new ArrayList<>();
                for (String key : keys) {
                    byte[] value = service.get(key);
                    values.add(value == null ? null : value.clone());
                }
                return values;
            }
        }

        @Override
        protected boolean waitFor(List<String> keys, Duration timeout) {
            long end = System.nanoTime() + timeout.toNanos();
            boolean interrupted = false;
            synchronized (service) {
                try {
                    while (!service.keySet().containsAll(keys)) {
                        requireOpen();
                        long left = end - System.nanoTime();
                        if (left <= 0) {
                            return false;
                        }
                        try {
                            TimeUnit.NANOSECONDS.timedWait(service, left);
                        } catch (InterruptedException e) {
                            interrupted = true;
                        }
                    }
                    return true;
                } finally {
                    if (interrupted) {
                        Thread.currentThread().interrupt();
                    }
                }
            }
        }

        @Override
        protected boolean remove(String key) {
            synchronized (service) {
                return service.remove(key) != null;
            }
        }

        @Override
        protected Store another(Duration timeout) {
            requireOpen();
            return new Client(timeout);
        }

        @Override
        protected int largestValue() {
            return MAX;
        }

        @Override
        public long keyCount() {
            return listKeys().size();
        }

        @Override
        public List<String> listKeys() {
            synchronized (service) {
                return List.copyOf(service.keySet());
            }
        }

        @Override
        public void close() {
            synchronized (service) {
                closed = true;
                service.notifyAll();
            }
        }

        @Override
        public String toString() {
            return "Client";
        }
    }

    @Override
    Store connect(Duration timeout) {
        return new Client(timeout);
    }

    @Override
    int largestValue() {
        return MAX;
    }

    @Test
    void whatIsJoinedHasALimitToo() {
        store.set("a", new byte[MAX - 1]);
        store.append("a", new byte[1]);
        assertThatThrownBy(() -> store.append("a", new byte[1])).isInstanceOf(UsageException.class);
        assertThat(store.get("a")).hasSize(MAX);
    }
}
