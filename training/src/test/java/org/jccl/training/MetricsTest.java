package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class MetricsTest {

    private static Map<String, Double> reduced(Metrics metrics, Consumer<Metrics> interval) {
        interval.accept(metrics);
        return metrics.reduce();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void allKindsAreReducedOverRanksInAnyOrderOfNames(int size) {
        TestRanks.onCpu(
                size,
                group -> {
                    Metrics metrics = Metrics.of(group);
                    for (int interval = 0; interval < 4; interval++) {
                        List<Runnable> additions = new ArrayList<>();
                        double rank = group.rank();
                        additions.add(() -> metrics.mean("loss", rank, rank + 1));
                        additions.add(() -> metrics.mean("loss", 10, 2));
                        additions.add(() -> metrics.mean("plain", rank));
                        additions.add(() -> metrics.sum("count", 1L << 50));
                        additions.add(() -> metrics.sum("count", rank));
                        additions.add(() -> metrics.min("least", -rank - 1));
                        additions.add(() -> metrics.min("least", 5));
                        additions.add(() -> metrics.max("most", rank));
                        int first = group.rank() + interval;
                        for (int i = 0; i < additions.size(); i++) {
                            additions.get((first + i) % additions.size()).run();
                        }
                        double weighted = 20 * size;
                        double weights = 2 * size;
                        double ranks = 0;
                        for (int i = 0; i < size; i++) {
                            weighted += i * (i + 1);
                            weights += i + 1;
                            ranks += i;
                        }
                        assertThat(metrics.reduce())
                                .isEqualTo(
                                        Map.of(
                                                "loss",
                                                weighted / weights,
                                                "plain",
                                                ranks / size,
                                                "count",
                                                size * (double) (1L << 50) + ranks,
                                                "least",
                                                (double) -size,
                                                "most",
                                                size - 1.0));
                    }
                });
    }

    @Test
    void oneMessageIsSentForNamesThatAreKnown() {
        TestRanks.onCpu(
                2,
                group -> {
                    List<String> calls = new ArrayList<>();
                    ProcessGroup counted =
                            (ProcessGroup)
                                    Proxy.newProxyInstance(
                                            ProcessGroup.class.getClassLoader(),
                                            new Class<?>[] {ProcessGroup.class},
                                            (proxy, method, arguments) -> {
                                                if (method.getReturnType() == Work.class) {
                                                    calls.add(method.getName());
                                                }
                                                return method.invoke(group, arguments);
                                            });
                    Metrics metrics = Metrics.of(counted);
                    List<Integer> messages = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        metrics.sum("a", 1);
                        metrics.mean("b", 1);
                        if (i == 3) {
                            metrics.max("c", 1);
                        }
                        metrics.reduce();
                        messages.add(calls.size());
                        calls.clear();
                    }
                    assertThat(messages).containsExactly(2, 1, 1, 3);
                });
    }

    /** On streams that delay each operation at random: a wait that is missing gives wrong sums. */
    @Test
    void devicesAreWaitedFor() {
        TestRanks.onDevices(
                2,
                group -> {
                    Metrics metrics = Metrics.of(group);
                    for (int i = 1; i <= 20; i++) {
                        metrics.sum("sum", i);
                        metrics.mean("mean", group.rank(), i);
                        assertThat(metrics.reduce()).isEqualTo(Map.of("sum", 2.0 * i, "mean", 0.5));
                    }
                });
    }

    @Test
    void ranksHaveTheSameBits() {
        List<Map<String, Double>> results = new ArrayList<>();
        TestRanks.onCpu(
                3,
                group -> {
                    Metrics metrics = Metrics.of(group);
                    Random random = new Random(group.rank());
                    for (int i = 0; i < 100; i++) {
                        metrics.mean("m" + i, random.nextGaussian(), random.nextDouble());
                        metrics.sum("s" + i, random.nextGaussian() * 1e9);
                    }
                    Map<String, Double> result = metrics.reduce();
                    synchronized (results) {
                        results.add(result);
                    }
                });
        assertThat(results).hasSize(3);
        assertThat(results.get(1)).isEqualTo(results.get(0));
        assertThat(results.get(2)).isEqualTo(results.get(0));
    }

    @Test
    void whatIsNotANumberIsSeen() {
        TestRanks.onCpu(
                2,
                group -> {
                    boolean last = group.rank() == 1;
                    Map<String, Double> result =
                            reduced(
                                    Metrics.of(group),
                                    metrics -> {
                                        double number = last ? Double.NaN : 1;
                                        metrics.min("min", number);
                                        metrics.max("max", number);
                                        metrics.sum("sum", number);
                                        metrics.mean("mean", number);
                                        metrics.mean("ignored", number, last ? 0 : 4);
                                        metrics.mean("none", 3, 0);
                                        metrics.min("infinite", Double.POSITIVE_INFINITY);
                                    });
                    assertThat(result)
                            .isEqualTo(
                                    Map.of(
                                            "min", Double.NaN,
                                            "max", Double.NaN,
                                            "sum", Double.NaN,
                                            "mean", Double.NaN,
                                            "ignored", 1.0,
                                            "none", Double.NaN,
                                            "infinite", Double.POSITIVE_INFINITY));
                });
    }

    @Test
    void namesMayChangeOnAllRanks() {
        TestRanks.onCpu(
                2,
                group -> {
                    Metrics metrics = Metrics.of(group);
                    assertThat(metrics.reduce()).isEmpty();
                    for (int i = 0; i < 3; i++) {
                        assertThat(reduced(metrics, m -> m.sum("a", 1)))
                                .isEqualTo(Map.of("a", 2.0));
                        assertThat(reduced(metrics, m -> m.max("a", 1)))
                                .isEqualTo(Map.of("a", 1.0));
                        assertThat(metrics.reduce()).isEmpty();
                    }
                });
    }

    /** The first time, with a name more, with a name less, another name and another kind. */
    @Test
    void aRankWithOtherNamesIsNamedAndNothingIsMixed() {
        TestRanks.onCpu(
                3,
                group -> {
                    Metrics metrics = Metrics.of(group);
                    boolean last = group.rank() == 2;
                    List<Consumer<Metrics>> others =
                            List.of(
                                    m -> {
                                        m.sum("a", 1);
                                        m.sum("b", 1);
                                    },
                                    m -> {},
                                    m -> m.sum("b", 1),
                                    m -> m.mean("a", 1));
                    List<String> words =
                            List.of(
                                    "rank 0 has nothing there, rank 2 has SUM 'b'",
                                    "rank 0 has SUM 'a', rank 2 has ",
                                    "rank 0 has SUM 'a', rank 2 has SUM 'b'",
                                    "rank 0 has SUM 'a', rank 2 has MEAN 'a'");
                    for (int i = 0; i < others.size(); i++) {
                        Consumer<Metrics> interval = last ? others.get(i) : m -> m.sum("a", 1);
                        assertThatThrownBy(() -> reduced(metrics, interval))
                                .isInstanceOf(DifferentModelsException.class)
                                .hasMessageContaining(words.get(i));
                        assertThat(reduced(metrics, m -> m.sum("a", 3)))
                                .isEqualTo(Map.of("a", 9.0));
                    }
                });
    }

    @Test
    void wrongArgumentsAreRefusedBeforeAnythingIsSent() {
        TestRanks.onCpu(
                1,
                group -> {
                    Metrics metrics = Metrics.of(group);
                    metrics.sum("a", 1);
                    assertThatThrownBy(() -> metrics.max("a", 1))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("'a' is a SUM, and cannot also be a MAX");
                    for (String name : new String[] {null, "", "a\nSUM 'b"}) {
                        assertThatThrownBy(() -> metrics.sum(name, 1))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("null, empty or has a line break");
                    }
                    for (double weight : new double[] {-1, Double.NaN, Double.POSITIVE_INFINITY}) {
                        assertThatThrownBy(() -> metrics.mean("m", 1, weight))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("weight of 'm' is " + weight);
                    }
                    assertThat(metrics.reduce()).isEqualTo(Map.of("a", 1.0));
                    assertThatThrownBy(() -> Metrics.of(null))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("group is null");
                });
    }
}
