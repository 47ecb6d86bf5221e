package org.jccl.training;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.DoubleBinaryOperator;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * Reduces named numbers of all ranks, for instance losses and counts of samples, in one message for
 * all names of an interval.
 *
 * <pre>{@code
 * Metrics metrics = Metrics.of(world);
 * for (each batch of the interval) {
 *     metrics.mean("loss", loss, samples);      // weighted by the samples
 *     metrics.sum("samples", samples);
 * }
 * Map<String, Double> all = metrics.reduce();   // the same on all ranks
 * }</pre>
 *
 * <p>Numbers are 64-bit floating point, on the wire too, so counts up to 2<sup>53</sup> are exact.
 * Each rank adds the numbers of all ranks in the order of ranks, so all get the same bits. A NaN
 * makes the result NaN. Not thread-safe. After {@link ProcessGroup#reconfigure}, all ranks must
 * make a new object.
 */
public final class Metrics {

    private enum Kind {
        SUM(0, Double::sum),
        MEAN(0, Double::sum),
        MIN(Double.POSITIVE_INFINITY, Math::min),
        MAX(Double.NEGATIVE_INFINITY, Math::max);

        final double neutral;
        final DoubleBinaryOperator operator;

        Kind(double neutral, DoubleBinaryOperator operator) {
            this.neutral = neutral;
            this.operator = operator;
        }
    }

    /** The accumulated number; for a mean, the sum of weighted numbers and the sum of weights. */
    private static final class Value {
        final Kind kind;
        double number;
        double weight;

        Value(Kind kind) {
            this.kind = kind;
            number = kind.neutral;
        }

        void add(double number, double weight) {
            this.number = kind.operator.applyAsDouble(this.number, number);
            this.weight += weight;
        }
    }

    private final ProcessGroup group;
    private final Map<String, Value> values = new TreeMap<>();

    /** The kinds and names on which all ranks last agreed, in order; null before the first time. */
    private List<String> agreed;

    private Metrics(ProcessGroup group) {
        this.group = group;
    }

    /**
     * Makes an object without numbers. Nothing is sent.
     *
     * @param group the group whose ranks reduce; the caller keeps ownership
     * @return the object
     * @throws UsageException if the group is null
     */
    public static Metrics of(ProcessGroup group) {
        if (group == null) {
            throw new UsageException(FailureContext.NONE, "group is null");
        }
        return new Metrics(group);
    }

    /**
     * Adds to a sum.
     *
     * @param name the name, without line breaks
     * @param number the number to add
     * @throws UsageException if the name is null, empty, has a line break or is of another kind in
     *     this interval
     */
    public void sum(String name, double number) {
        value(name, Kind.SUM).add(number, 0);
    }

    /**
     * Adds a number with weight 1 to a mean.
     *
     * @param name as in {@link #sum}
     * @param number the number to include in the mean
     * @throws UsageException as {@link #sum}
     */
    public void mean(String name, double number) {
        mean(name, number, 1);
    }

    /**
     * Adds a number to a mean. A mean without weight is NaN.
     *
     * @param name as in {@link #sum}
     * @param number the number to include in the mean
     * @param weight for instance the number of samples. A rank without a number passes 0; the
     *     number is then ignored
     * @throws UsageException as {@link #sum}, or if the weight is negative or not finite
     */
    public void mean(String name, double number, double weight) {
        if (!(weight >= 0 && weight < Double.POSITIVE_INFINITY)) {
            throw usage("the weight of '" + name + "' is " + weight);
        }
        value(name, Kind.MEAN).add(weight == 0 ? 0 : number * weight, weight);
    }

    /**
     * Adds a number to a minimum.
     *
     * @param name as in {@link #sum}
     * @param number the number; a rank that has none passes infinity
     * @throws UsageException as {@link #sum}
     */
    public void min(String name, double number) {
        value(name, Kind.MIN).add(number, 0);
    }

    /**
     * Adds a number to a maximum.
     *
     * @param name as in {@link #sum}
     * @param number the number; a rank that has none passes negative infinity
     * @throws UsageException as {@link #sum}
     */
    public void max(String name, double number) {
        value(name, Kind.MAX).add(number, 0);
    }

    private Value value(String name, Kind kind) {
        if (name == null || name.isEmpty() || name.indexOf('\n') >= 0) {
            throw usage("the name of a metric is null, empty or has a line break: " + name);
        }
        Value value = values.computeIfAbsent(name, any -> new Value(kind));
        if (value.kind != kind) {
            throw usage(
                    "metric '" + name + "' is a " + value.kind + ", and cannot also be a " + kind);
        }
        return value;
    }

    /**
     * Ends an interval: reduces its numbers over all ranks, and clears them, even if it fails. All
     * ranks must call it with the same names. If names are new, ranks compare them first, which
     * takes up to two more messages. Blocks.
     *
     * @return the results by name, in the order of names, the same on all ranks
     * @throws DifferentModelsException on all ranks, if names or kinds differ between ranks; the
     *     message names a rank that differs and the first difference
     * @throws JcclException if the group has failed
     */
    public Map<String, Double> reduce() {
        Map<String, Value> mine = new TreeMap<>(values);
        values.clear();
        List<String> names = new ArrayList<>();
        mine.forEach((name, value) -> names.add(value.kind + " '" + name + "'"));
        double[] all = agreed == null ? null : gather(mine, names.equals(agreed));
        if (all == null || !allHaveAgreedNames(all)) {
            ModelCheck.requireSame(
                    group,
                    group.devices().get(0),
                    names,
                    "all ranks must add to the same metrics before reduce()");
            agreed = names;
            all = gather(mine, true);
        }
        Map<String, Double> results = new TreeMap<>();
        int length = all.length / group.size();
        for (Map.Entry<String, Value> each : mine.entrySet()) {
            Value total = new Value(each.getValue().kind);
            for (int at = 1 + 2 * results.size(); at < all.length; at += length) {
                total.add(all[at], all[at + 1]);
            }
            boolean mean = total.kind == Kind.MEAN;
            results.put(each.getKey(), mean ? total.number / total.weight : total.number);
        }
        return Collections.unmodifiableMap(results);
    }

    /**
     * Gathers from all ranks whether they have the agreed names, and the number and weight of each
     * name.
     */
    private double[] gather(Map<String, Value> mine, boolean haveNames) {
        double[] words = new double[1 + 2 * agreed.size()];
        if (haveNames) {
            words[0] = 1;
            int at = 1;
            for (Value value : mine.values()) {
                words[at++] = value.number;
                words[at++] = value.weight;
            }
        }
        double[] all = new double[words.length * group.size()];
        try (Tensor input = tensor(words);
                Tensor output = tensor(all)) {
            group.allGatherSingle(output, input).synchronize();
            return output.copyTo(all);
        }
    }

    private Tensor tensor(double[] words) {
        return Tensor.allocate(group.devices().get(0), DataType.FLOAT64, words.length)
                .copyFrom(words);
    }

    private boolean allHaveAgreedNames(double[] all) {
        for (int at = 0; at < all.length; at += all.length / group.size()) {
            if (all[at] == 0) {
                return false;
            }
        }
        return true;
    }

    private UsageException usage(String message) {
        return new UsageException(FailureContext.ofGroup(group.name(), group.rank()), message);
    }
}
