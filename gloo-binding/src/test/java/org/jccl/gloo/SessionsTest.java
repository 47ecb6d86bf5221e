package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.jccl.MismatchException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.Ranks;
import org.junit.jupiter.api.Test;

/** Sessions of inference that compute at the same time, each with a thread on each rank. */
class SessionsTest {

    private static final int RANKS = 2;

    private static ConformanceBackend backend() {
        return (store, rank, size, timeout) ->
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(store)
                        .rank(rank)
                        .worldSize(size)
                        .joinTimeout(Ranks.TIMEOUT)
                        .timeout(timeout)
                        .build();
    }

    private static float sum(ProcessGroup group, float... values) {
        group.sync().allReduce(values, ReduceOp.SUM);
        return values[0];
    }

    /** Equal sums of all sessions at once, which one group would mix. */
    @Test
    void eachHasAGroupOfAPool() {
        int sessions = 8;
        backend()
                .ranks()
                .run(
                        RANKS,
                        rank -> {
                            List<Integer> all = List.of(0, 1);
                            List<ProcessGroup> pool = new ArrayList<>();
                            for (int i = 0; i < sessions; i++) {
                                pool.add(rank.group().newGroup(all).orElseThrow());
                            }
                            ExecutorService threads = Executors.newFixedThreadPool(sessions);
                            List<Future<Boolean>> right = new ArrayList<>();
                            for (int i = 0; i < sessions; i++) {
                                ProcessGroup group = pool.get(i);
                                float part = (i + 1) * (1 + 1000 * group.rank());
                                float expected = (i + 1) * 1002;
                                right.add(
                                        threads.submit(
                                                () ->
                                                        IntStream.range(0, 200)
                                                                .allMatch(
                                                                        step ->
                                                                                sum(group, part)
                                                                                        == expected)));
                            }
                            for (Future<Boolean> each : right) {
                                assertThat(each.get()).isTrue();
                            }
                            threads.shutdown();
                            pool.forEach(ProcessGroup::close);
                        });
    }

    /** The limit that docs/serving.md states: nothing is the matter on either rank. */
    @Test
    void oneGroupMixesEqualSumsInAnotherOrder() {
        backend()
                .ranks()
                .run(
                        RANKS,
                        rank -> {
                            ProcessGroup group = rank.group();
                            float[] sessions = {1, 10};
                            int first = group.rank();
                            float mixed = sum(group, sessions[first]);
                            assertThat(mixed).isEqualTo(11);
                            assertThat(sum(group, sessions[1 - first])).isEqualTo(11);
                        });
    }

    @Test
    void oneGroupNoticesSumsOfOtherSizesInAnotherOrder() {
        backend()
                .ranks()
                .run(
                        RANKS,
                        rank -> {
                            float[] values = new float[rank.group().rank() + 1];
                            assertThat(catchThrowable(() -> sum(rank.group(), values)))
                                    .isInstanceOf(MismatchException.class);
                        });
    }
}
