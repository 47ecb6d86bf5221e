package org.jccl.internal.membership;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.SilentStore;

/** The keys of an agreement in a store. */
final class StoredKeys implements MembershipKeys {

    private static final byte[] NOTHING = {};

    /** Is never a value. */
    private static final String MISSING = "?";

    private final Store store;

    StoredKeys(Store store) {
        this.store = store;
    }

    private static String anyone(int attempt) {
        return attempt + "/anyone";
    }

    /** Whether a candidate has announced itself in an attempt. */
    boolean hasCandidate(int attempt) {
        return store.check(List.of(anyone(attempt)));
    }

    /** Waits until the members of an attempt are decided, but not longer than the time. */
    void awaitMembers(int attempt, Duration time) {
        try {
            store.await(List.of(MembershipKeys.members(attempt)), time);
        } catch (StoreTimeoutException e) {
            if (SilentStore.isCauseOf(e)) {
                throw e;
            }
        }
    }

    @Override
    public String read(String key) {
        // A compare-and-set that replaces nothing does not wait for a missing key, as get() does.
        String value = compareSet(key, MISSING, MISSING);
        return value.equals(MISSING) ? "" : value;
    }

    @Override
    public void announce(int attempt, int slot, String text) {
        store.multiSet(
                List.of(MembershipKeys.here(attempt, slot), anyone(attempt)),
                List.of(bytes(text), NOTHING));
    }

    @Override
    public Map<Integer, String> present(int attempt, int size) {
        List<Integer> slots = IntStream.range(0, size).boxed().toList();
        Set<Integer> missing =
                new HashSet<>(
                        Arrivals.missing(store, slots, slot -> MembershipKeys.here(attempt, slot)));
        Map<Integer, String> present = new TreeMap<>();
        for (int slot : slots) {
            String text = missing.contains(slot) ? "" : read(MembershipKeys.here(attempt, slot));
            if (!text.isEmpty()) {
                present.put(slot, text);
            }
        }
        return present;
    }

    @Override
    public String compareSet(String key, String expected, String desired) {
        return text(store.compareSet(key, bytes(expected), bytes(desired)));
    }

    @Override
    public long count(String key) {
        return store.add(key, 1);
    }

    /** Deletes the keys of attempts before this one, also those of their groups. */
    void forgetBefore(int attempt) {
        Set<String> old =
                IntStream.range(0, attempt)
                        .mapToObj(number -> number + "/")
                        .collect(Collectors.toSet());
        for (String key : store.listKeys()) {
            if (old.contains(key.substring(0, key.indexOf('/') + 1))) {
                store.deleteKey(key);
            }
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
