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
 * Keys and queues in memory, in two separate namespaces. Not thread-safe. Neither this class nor
 * its callers modify an array that was passed in or returned.
 */
final class KeySpace {

    private static final byte[] NOTHING = {};

    private final Map<String, byte[]> values = new HashMap<>();
    private final Map<String, Deque<byte[]>> queues = new HashMap<>();

    void set(String key, byte[] value) {
        values.put(key, value);
    }

    /** Returns the value, or null if the key does not exist. */
    byte[] get(String key) {
        return values.get(key);
    }

    /** Returns copies of the values; a missing key has an empty one. */
    List<byte[]> copies(List<String> keys) {
        return keys.stream().map(key -> values.getOrDefault(key, NOTHING).clone()).toList();
    }

    /** Returns whether a key or a non-empty queue has this name. */
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

    /** Returns whether a value is a number, so that {@link #add} accepts it. */
    static boolean isNumber(byte[] value) {
        try {
            leadingNumber(value);
            return true;
        } catch (NumberFormatException e) {
            return false;
        }
    }

    /**
     * Adds to a counter.
     *
     * @throws NumberFormatException if the value does not start with a decimal number
     */
    long add(String key, long delta) {
        byte[] old = values.get(key);
        long sum = (old == null ? 0 : leadingNumber(old)) + delta;
        values.put(key, Long.toString(sum).getBytes(StandardCharsets.US_ASCII));
        return sum;
    }

    /**
     * Returns the new value, or {@code expected} if the key is missing but was expected to exist.
     */
    byte[] compareSet(String key, byte[] expected, byte[] desired) {
        byte[] current = values.get(key);
        boolean swap = current == null ? expected.length == 0 : Arrays.equals(current, expected);
        if (swap) {
            values.put(key, desired);
            return desired;
        }
        return current == null ? expected : current;
    }

    /**
     * Appends to a value. Returns false and changes nothing if the value would exceed the limit.
     */
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

    /** Removes and returns the oldest value, or returns null if the queue is empty. */
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

    /** Parses a number as C's {@code strtoll}: white space, sign, digits, and then any text. */
    private static long leadingNumber(byte[] value) {
        String text = new String(value, StandardCharsets.ISO_8859_1).stripLeading();
        int end = text.startsWith("-") || text.startsWith("+") ? 1 : 0;
        while (end < text.length() && text.charAt(end) >= '0' && text.charAt(end) <= '9') {
            end++;
        }
        return Long.parseLong(text.substring(0, end));
    }
}
