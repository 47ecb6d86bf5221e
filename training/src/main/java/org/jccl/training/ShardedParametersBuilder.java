package org.jccl.training;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;

/** Builder of {@link ShardedParameters}. Not thread-safe. */
public final class ShardedParametersBuilder {

    final ProcessGroup group;
    final Map<String, List<NamedTensor>> units = new LinkedHashMap<>();
    private final Set<String> names = new HashSet<>();
    private Tensor first;
    Sharding sharding = Sharding.PARAMETERS;
    int wholeUnits = 2;
    boolean average = true;

    ShardedParametersBuilder(ProcessGroup group) {
        this.group = group;
        if (group == null) {
            throw new UsageException(FailureContext.NONE, "group is null");
        }
    }

    /**
     * Adds a unit of parameters that are gathered and reduced together. Units must be added in the
     * order in which the program uses them.
     *
     * @param name the name of the unit
     * @param parameters its parameters. All units must have the same floating point type and
     *     device. Training begins with rank 0's elements; the tensors are not used after {@link
     *     #build}
     * @return this builder
     * @throws UsageException if an argument is null or empty, a name is already used, or the type
     *     or device differs
     */
    public ShardedParametersBuilder unit(String name, List<NamedTensor> parameters) {
        if (name == null || parameters == null || parameters.isEmpty()) {
            throw usage("unit '" + name + "' has parameters " + parameters);
        }
        List<NamedTensor> copy = new ArrayList<>(parameters);
        if (copy.contains(null)) {
            throw usage("parameter " + copy.indexOf(null) + " of unit '" + name + "' is null");
        }
        if (units.containsKey(name)) {
            throw usage("two units have the name '" + name + "'");
        }
        copy.forEach(this::check);
        units.put(name, List.copyOf(copy));
        return this;
    }

    private void check(NamedTensor parameter) {
        Tensor tensor = parameter.tensor();
        first = first == null ? tensor : first;
        if (!tensor.dataType().isFloatingPoint()
                || tensor.dataType() != first.dataType()
                || !tensor.device().equals(first.device())) {
            throw usage(
                    "parameter '"
                            + parameter.name()
                            + "' is "
                            + tensor
                            + "; all must be of one floating point type and on one device, and the"
                            + " first is "
                            + first
                            + ". Use another ShardedParameters for the other type");
        }
        if (!names.add(parameter.name())) {
            throw usage("two parameters have the name '" + parameter.name() + "'");
        }
    }

    /**
     * Sets which tensors are sharded.
     *
     * @param what the tensors to shard, of which each rank keeps only a part; {@link
     *     Sharding#PARAMETERS} by default
     * @return this builder
     * @throws UsageException if it is null
     */
    public ShardedParametersBuilder sharding(Sharding what) {
        if (what == null) {
            throw usage("sharding is null");
        }
        sharding = what;
        return this;
    }

    /**
     * Sets how many units may be whole at a time. Memory for this many of the largest unit is
     * allocated, for sharded parameters and for sharded gradients.
     *
     * @param count at least 1; 2 by default: one to compute with and one that is being gathered
     * @return this builder
     * @throws UsageException if it is less than 1
     */
    public ShardedParametersBuilder wholeUnits(int count) {
        if (count < 1) {
            throw usage("wholeUnits is " + count);
        }
        wholeUnits = count;
        return this;
    }

    /**
     * Sums gradients instead of averaging them. By default sums are divided by the number of ranks.
     *
     * @return this builder
     */
    public ShardedParametersBuilder sum() {
        average = false;
        return this;
    }

    /**
     * Compares the model on all ranks and starts with rank 0's parameters. All ranks must call it.
     *
     * @return the sharded parameters
     * @throws DifferentModelsException on all ranks, if their units, parameters or settings differ
     * @throws UsageException if there is no unit, or the group does not have the device
     * @throws JcclException if the group has failed
     */
    public ShardedParameters build() {
        if (units.isEmpty()) {
            throw usage("there are no units");
        }
        if (!group.devices().contains(first.device())) {
            throw usage(first + " is not on a device of the group, which has " + group.devices());
        }
        List<String> lines = new ArrayList<>();
        lines.add("sharding " + sharding + ", " + wholeUnits + " whole units, average " + average);
        units.forEach(
                (unit, parameters) -> parameters.forEach(each -> lines.add(line(unit, each))));
        ModelCheck.requireSame(
                group,
                first.device(),
                lines,
                "all ranks must have the same units and parameters, in the same order");
        return new ShardedParameters(this, first.device(), first.dataType());
    }

    private static String line(String unit, NamedTensor parameter) {
        return ("'"
                        + parameter.name()
                        + "' of unit '"
                        + unit
                        + "' ("
                        + parameter.tensor().dataType()
                        + " "
                        + parameter.shape()
                        + ")")
                .replace('\n', ' ');
    }

    private UsageException usage(String message) {
        return new UsageException(
                group == null
                        ? FailureContext.NONE
                        : FailureContext.ofGroup(group.name(), group.rank()),
                message);
    }
}
