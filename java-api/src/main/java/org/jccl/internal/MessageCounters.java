package org.jccl.internal;

import java.util.HashMap;
import java.util.Map;

/**
 * Numbers messages: the n-th send to a peer with a tag meets the n-th receive from it with that
 * tag.
 */
final class MessageCounters {

    private record Channel(OperationKind kind, int peer, int tag) {}

    private final Map<Channel, long[]> next = new HashMap<>();

    long next(OperationKind kind, int peer, int tag) {
        return next.computeIfAbsent(new Channel(kind, peer, tag), channel -> new long[1])[0]++;
    }
}
