package org.jccl.cli.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.cli.bench.Collective.Placement;

/** One operation with its tensors: the call to be timed, and the check of its result. */
final class Trial implements AutoCloseable {

    static final int ROOT = 0;

    private final ProcessGroup group;
    private final Device device;
    private final int rank;
    private final int ranks;
    private final Collective collective;
    private final ReduceOp op;
    private final Pattern pattern;
    private final long count;

    private final Tensor input;
    private final Tensor output;
    private final List<Tensor> inputParts;
    private final List<Tensor> outputParts;
    private final List<Tensor> owned = new ArrayList<>();

    /**
     * Allocates the tensors.
     *
     * @param device where the tensors are
     * @param count elements of the call, see {@link Collective#count}
     */
    Trial(
            ProcessGroup group,
            Device device,
            Collective collective,
            Placement placement,
            DataType type,
            ReduceOp op,
            long count) {
        this.group = group;
        this.device = device;
        this.rank = group.rank();
        this.ranks = group.size();
        this.collective = collective;
        this.op = op;
        this.count = count;
        this.pattern =
                new Pattern(type, collective.reduces() ? Optional.of(op) : Optional.empty(), ranks);
        output = allocate(type, count * outputsOfRank());
        boolean shared = placement == Placement.IN_PLACE && isPartOfOutput();
        input = shared ? ownPart() : allocate(type, count * inputsOfRank());
        inputParts = parts(input);
        outputParts = parts(output);
    }

    private Tensor allocate(DataType type, long elements) {
        Tensor tensor = Tensor.allocate(device, type, elements);
        owned.add(tensor);
        return tensor;
    }

    /** One tensor a rank, or none where there is only this rank's own. */
    private List<Tensor> parts(Tensor whole) {
        return whole.count() < ranks * count
                ? List.of()
                : IntStream.range(0, ranks).mapToObj(i -> whole.slice(i * count, count)).toList();
    }

    /** Number of parts that this rank gets. */
    private int outputsOfRank() {
        return switch (collective) {
            case ALL_GATHER, ALL_TO_ALL -> ranks;
            case GATHER -> rank == ROOT ? ranks : 1;
            default -> 1;
        };
    }

    /** Number of parts that this rank sends. */
    private int inputsOfRank() {
        return switch (collective) {
            case REDUCE_SCATTER, ALL_TO_ALL -> ranks;
            case SCATTER -> rank == ROOT ? ranks : 1;
            default -> 1;
        };
    }

    private boolean isPartOfOutput() {
        return collective != Collective.GATHER || rank == ROOT;
    }

    private Tensor ownPart() {
        return outputsOfRank() > 1 ? output.slice(rank * count, count) : output;
    }

    /** The call to be timed. */
    Runnable call(Mode mode) {
        return mode == Mode.SYNC ? syncCall(group.sync()) : asyncCall();
    }

    private Runnable syncCall(SyncCollectives sync) {
        return switch (collective) {
            case ALL_REDUCE -> () -> sync.allReduce(output, op);
            case BROADCAST -> () -> sync.broadcast(output, ROOT);
            case REDUCE -> () -> sync.reduce(output, ROOT, op);
            case ALL_GATHER -> () -> sync.allGatherSingle(output, input);
            case REDUCE_SCATTER -> () -> sync.reduceScatterSingle(output, input, op);
            case ALL_TO_ALL -> () -> sync.allToAllSingle(output, input);
            case GATHER -> () -> sync.gather(outputParts, input, ROOT);
            case SCATTER -> () -> sync.scatter(output, inputParts, ROOT);
            case BARRIER -> sync::barrier;
            case SENDRECV ->
                    switch (rank) {
                        case 0 ->
                                () -> {
                                    sync.send(input, 1);
                                    sync.recv(output, 1);
                                };
                        case 1 ->
                                () -> {
                                    sync.recv(output, 0);
                                    sync.send(output, 0);
                                };
                        default -> () -> {};
                    };
        };
    }

    private Runnable asyncCall() {
        return switch (collective) {
            case ALL_REDUCE -> () -> group.allReduce(output, op).await();
            case BROADCAST -> () -> group.broadcast(output, ROOT).await();
            case REDUCE -> () -> group.reduce(output, ROOT, op).await();
            case ALL_GATHER -> () -> group.allGatherSingle(output, input).await();
            case REDUCE_SCATTER -> () -> group.reduceScatterSingle(output, input, op).await();
            case ALL_TO_ALL -> () -> group.allToAllSingle(output, input).await();
            case GATHER -> () -> group.gather(outputParts, input, ROOT).await();
            case SCATTER -> () -> group.scatter(output, inputParts, ROOT).await();
            case BARRIER -> () -> group.barrier().await();
            case SENDRECV ->
                    switch (rank) {
                        case 0 ->
                                () -> {
                                    group.send(input, 1).await();
                                    group.recv(output, 1).await();
                                };
                        case 1 ->
                                () -> {
                                    group.recv(output, 0).await();
                                    group.send(output, 0).await();
                                };
                        default -> () -> {};
                    };
        };
    }

    /** Writes this rank's input, and fills the rest of the output with values to be overwritten. */
    void fill() {
        pattern.fill(output, index -> Pattern.POISON);
        pattern.fill(input, index -> pattern.input(rank, index));
    }

    /** Makes the call once on fresh data, and counts this rank's wrong elements. */
    long check(Mode mode) {
        fill();
        call(mode).run();
        return switch (collective) {
            case ALL_REDUCE -> wrong(output, pattern::reduced);
            case REDUCE ->
                    wrong(
                            output,
                            rank == ROOT ? pattern::reduced : index -> pattern.input(rank, index));
            case BROADCAST -> wrong(output, index -> pattern.input(ROOT, index));
            case ALL_GATHER -> wrongParts(0);
            case GATHER -> rank == ROOT ? wrongParts(0) : 0;
            case ALL_TO_ALL -> wrongParts(rank * count);
            case SCATTER -> wrong(output, index -> pattern.input(ROOT, rank * count + index));
            case REDUCE_SCATTER -> wrong(output, index -> pattern.reduced(rank * count + index));
            case SENDRECV -> rank < 2 ? wrong(output, index -> pattern.input(0, index)) : 0;
            case BARRIER -> 0;
        };
    }

    /** Part i of the output came from rank i, where it began at an offset. */
    private long wrongParts(long offset) {
        long wrong = 0;
        for (int source = 0; source < ranks; source++) {
            int from = source;
            wrong += wrong(outputParts.get(source), index -> pattern.input(from, offset + index));
        }
        return wrong;
    }

    private long wrong(Tensor tensor, IntToDoubleFunction expected) {
        return pattern.wrong(tensor, expected);
    }

    @Override
    public void close() {
        owned.forEach(Tensor::close);
    }
}
