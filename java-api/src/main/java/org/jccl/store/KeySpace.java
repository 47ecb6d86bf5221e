package org.jccl.store;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Keys and queues in memory, in two separate name spaces. Not safe for use by several threads. An
 * array that was handed in or out is never written to again, neither here nor by the caller.
 */
final class KeySpace {

    private final Map<String, byte[]> values = new HashMap<>();
    private final Map<String, Deque<byte[]>> queues = new HashMap<>();

    void set(String key, byte[] value) {
        values.put(key, value);
    }

    /** The value, or null when the key does not exist. */
    byte[] get(String key) {
        return values.get(key);
    }

    /** Whether a key or a queue that is not empty has this name. */
    boolean contains(String key) {
        return values.containsKey(key) || queues.containsKey(key);
    }

    boolean containsAll(List<String> keys) {
        return keys.stream().allMatch(this::contains);
    }

    boolean delete(String key) {
        return values.remove(key) != null;
    }

    int size() {
        return values.size();
    }

    Collection<String> keys() {
        return values.keySet();
    }

    /**
     * Adds to a counter.
     *
     * @throws NumberFormatException when the value does not start with a decimal number
     */
    long add(String key, long delta) {
        byte[] old = values.get(key);
        long sum = (old == null ? 0 : leadingNumber(old)) + delta;
        values.put(key, Long.toString(sum).getBytes(StandardCharsets.US_ASCII));
        return sum;
    }

    /** The value afterwards, or {@code expected} for a missing key that was expected to exist. */
    byte[] compareSet(String key, byte[] expected, byte[] desired) {
        byte[] current = values.get(key);
        boolean swap = current == null ? expected.length == 0 : Arrays.equals(current, expected);
        if (swap) {
            values.put(key, desired);
            return desired;
        }
        return current == null ? expected : current;
    }

    /** Appends if the value stays within the limit, else changes nothing and returns false. */
    boolean append(String key, byte[] value) {
        byte[] old = values.get(key);
        if (old == null) {
            values.put(key, value);
            return true;
        }
        if (old.length + value.length > StoreArguments.MAX_VALUE_BYTES) {
            return false;
        }
        byte[] joined = Arrays.copyOf(old, old.length + value.length);
        System.arraycopy(value, 0, joined, old.length, value.length);
        values.put(key, joined);
        return true;
    }

    void push(String queue, byte[] value) {
        queues.computeIfAbsent(queue, name -> new ArrayDeque<>()).add(value);
    }

    /** The oldest value, or null when the queue is empty. */
    byte[] poll(String queue) {
        Deque<byte[]> values = queues.get(queue);
        if (values == null) {
            return null;
        }
        byte[] oldest = values.poll();
        if (values.isEmpty()) {
            queues.remove(queue);
        }
        return oldest;
    }

    int queueLength(String queue) {
        Deque<byte[]> values = queues.get(queue);
        return values == null ? 0 : values.size();
    }

    /** Reads a number as C's {@code strtoll} does: white space, sign, digits, then anything. */
    private static long leadingNumber(byte[] value) {
        String text = new String(value, StandardCharsets.ISO_8859_1).stripLeading();
        int end = text.startsWith("-") || text.startsWith("+") ? 1 : 0;
        while (end < text.length() && text.charAt(end) >= '0' && text.charAt(end) <= '9') {
            end++;
        }
        return Long.parseLong(text.substring(0, end));
    }
}
