package org.jccl.cli.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jccl.DataType;

/**
 * The operations that can be measured, with nccl-tests' rules for what a size means and how
 * bandwidth follows from a time.
 */
enum Collective {
    ALL_REDUCE(Sizing.WHOLE, "", Placement.IN_PLACE),
    BROADCAST(Sizing.WHOLE, "", Placement.IN_PLACE),
    REDUCE(Sizing.WHOLE, "", Placement.IN_PLACE),
    ALL_GATHER(Sizing.PARTS, "allgatherintotensor", Placement.OUT_OF_PLACE, Placement.IN_PLACE),
    REDUCE_SCATTER(Sizing.PARTS, "reducescattertensor", Placement.OUT_OF_PLACE),
    ALL_TO_ALL(Sizing.PARTS, "alltoallsingle", Placement.OUT_OF_PLACE),
    GATHER(Sizing.PARTS, "", Placement.OUT_OF_PLACE, Placement.IN_PLACE),
    SCATTER(Sizing.PARTS, "", Placement.OUT_OF_PLACE),
    SENDRECV(Sizing.WHOLE, "pingpong", Placement.OUT_OF_PLACE),
    BARRIER(Sizing.NONE, "", Placement.IN_PLACE);

    /** Whether the result goes to memory of its own. */
    enum Placement {
        OUT_OF_PLACE,
        IN_PLACE;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    private enum Sizing {
        /** The size is one buffer. */
        WHOLE,
        /** The size is a buffer of one part a rank. */
        PARTS,
        /** There is no data. */
        NONE
    }

    private final Sizing sizing;
    private final String otherName;
    private final List<Placement> placements;

    Collective(Sizing sizing, String otherName, Placement... placements) {
        this.sizing = sizing;
        this.otherName = otherName;
        this.placements = List.of(placements);
    }

    /**
     * Finds an operation by the name that PyTorch, nccl-tests ({@code alltoall}, {@code
     * all_reduce_perf}) or this library ({@code allReduce}) gives it.
     */
    static Optional<Collective> parse(String name) {
        String wanted =
                name.toLowerCase(Locale.ROOT).replaceFirst("_perf$", "").replaceAll("[_-]", "");
        return Arrays.stream(values())
                .filter(
                        value ->
                                value.toString().replace("_", "").equals(wanted)
                                        || (!wanted.isEmpty() && value.otherName.equals(wanted)))
                .findFirst();
    }

    static String names() {
        return Arrays.stream(values()).map(Collective::toString).collect(Collectors.joining(" "));
    }

    /** The forms that the API has. A line of CSV has the first one. */
    List<Placement> placements() {
        return placements;
    }

    boolean hasData() {
        return sizing != Sizing.NONE;
    }

    boolean reduces() {
        return this == ALL_REDUCE || this == REDUCE || this == REDUCE_SCATTER;
    }

    boolean hasRoot() {
        return this == BROADCAST || this == REDUCE || this == GATHER || this == SCATTER;
    }

    /** Elements given to the call for a wanted size: at least one, and one rank's for parts. */
    long count(long bytes, DataType type, int ranks) {
        long elements = bytes / type.size();
        return switch (sizing) {
            case WHOLE -> Math.max(1, elements);
            case PARTS -> Math.max(1, elements / ranks);
            case NONE -> 0;
        };
    }

    /** Bytes of the larger of a rank's send and receive buffers. */
    long bytes(long count, DataType type, int ranks) {
        return count * type.size() * (sizing == Sizing.PARTS ? ranks : 1);
    }

    /**
     * Bus bandwidth over algorithm bandwidth: the share of the size that each rank's link carries.
     * A send and receive is there and back again, so it carries its size twice.
     */
    double busFactor(int ranks) {
        double others = (ranks - 1.0) / ranks;
        return switch (this) {
            case ALL_REDUCE -> 2 * others;
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> others;
            case BROADCAST, REDUCE -> 1;
            case SENDRECV -> 2;
            case BARRIER -> 0;
        };
    }

    /** The name as PyTorch writes it. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
