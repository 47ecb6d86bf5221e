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

/** Describes {@link ShardedParameters}. Not safe for use by several threads. */
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
     * Adds parameters that are gathered and reduced together, in the order in which the program
     * uses them.
     *
     * @param name of the unit
     * @param parameters of one floating point type and on one device, as are those of all units.
     *     Rank 0's elements are where training begins; the tensors are not used after {@link
     *     #build}
     * @return this builder
     * @throws UsageException when an argument is null or empty, a name was given before, or a type
     *     or device is another one
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
            throw usage("there are two units '" + name + "'");
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
                            + ". Shard those of another type by themselves");
        }
        if (!names.add(parameter.name())) {
            throw usage("there are two parameters '" + parameter.name() + "'");
        }
    }

    /**
     * What is sharded.
     *
     * @param what each rank keeps a part of only; {@link Sharding#PARAMETERS} by default
     * @return this builder
     * @throws UsageException when it is null
     */
    public ShardedParametersBuilder sharding(Sharding what) {
        if (what == null) {
            throw usage("sharding is null");
        }
        sharding = what;
        return this;
    }

    /**
     * How many units may be whole at a time: memory for so many of the largest is kept, for
     * parameters and for gradients where they are sharded.
     *
     * @param count at least 1; by default 2, one to compute with and one that is on its way
     * @return this builder
     * @throws UsageException when it is less than 1
     */
    public ShardedParametersBuilder wholeUnits(int count) {
        if (count < 1) {
            throw usage("wholeUnits is " + count);
        }
        wholeUnits = count;
        return this;
    }

    /**
     * Leaves gradients as sums.
     *
     * @return this builder, which by default divides them by the number of ranks
     */
    public ShardedParametersBuilder sum() {
        average = false;
        return this;
    }

    /**
     * Compares the model between all ranks, which all call this, and takes over rank 0's.
     *
     * @return the sharded parameters
     * @throws DifferentModelsException on all ranks, when they do not have the same units,
     *     parameters and settings
     * @throws UsageException when there is no unit, or the device is none of the group's
     * @throws JcclException when the group has failed
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
