package org.jccl.conformance;

import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.jccl.Device;
import org.jccl.Stream;

/**
 * Devices for tests that run at the same time. Worlds that share a device share its default stream,
 * where each waits for what another is stuck in, so every test has devices of its own.
 */
public final class OwnDevices {

    private static final int MOST_RANKS = 5;

    private static int next;

    private OwnDevices() {}

    /**
     * The devices of one test, on which nothing runs.
     *
     * @param deviceType of the devices, of which {@code MOCK_DEVICES} says how many there are
     * @return for each rank its device; chosen when the first one joins
     */
    public static IntUnaryOperator of(String deviceType) {
        int[] first = {-1};
        return rank -> choose(deviceType, first) + rank;
    }

    private static synchronized int choose(String deviceType, int[] chosen) {
        int devices = Integer.parseInt(System.getenv("MOCK_DEVICES"));
        while (chosen[0] < 0) {
            next = next + 2 * MOST_RANKS > devices ? 0 : next + MOST_RANKS;
            boolean idle =
                    IntStream.range(next, next + MOST_RANKS)
                            .mapToObj(index -> new Device(deviceType, index))
                            .allMatch(device -> Stream.current(device).query());
            chosen[0] = idle ? next : -1;
        }
        return chosen[0];
    }
}
