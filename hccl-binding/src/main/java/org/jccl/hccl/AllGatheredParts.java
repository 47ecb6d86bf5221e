package org.jccl.hccl;

import java.util.Arrays;
import org.jccl.DataType;

/**
 * Copies parts of different sizes, or of one rank only, to all ranks with {@code HcclAllGather},
 * for devices whose HCCL has no broadcast. Slices of all ranks go through scratch memory, so that
 * it stays small. Bytes are moved and never added: the copy is exact for all types. For the thread
 * that was admitted to the communicator.
 */
final class AllGatheredParts {

    /** The scratch memory of one step. */
    private static final long SCRATCH_BYTES = 32L << 20;

    /** The alignment of device memory. */
    private static final long ALIGNMENT = 512;

    /** The number of lengths by which different sizes of parts are distinguished. */
    private static final int LENGTHS = 61;

    private final int rank;
    private final long[] bytes;
    private final DeviceScratch scratch;
    private final long largestSlice;

    AllGatheredParts(int rank, int size, DeviceScratch scratch) {
        this.rank = rank;
        this.bytes = new long[size];
        this.scratch = scratch;
        this.largestSlice = aligned(SCRATCH_BYTES / (size + 1));
    }

    /** Sends the elements of one rank to all. */
    void broadcast(HcclCalls calls, long address, long count, DataType type, int root) {
        Arrays.fill(bytes, 0);
        bytes[root] = count * type.size();
        complete(calls, address, root);
    }

    /** Copies the parts of all ranks; each rank has its own part in place. */
    void complete(HcclCalls calls, long output, long[] counts, DataType type) {
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = counts[i] * type.size();
        }
        complete(calls, output, Math.floorMod(Arrays.hashCode(bytes), LENGTHS));
    }

    /**
     * Gathers slice by slice. The last slice has additional bytes, whose number depends on the root
     * or the sizes. Ranks that disagree about these get stuck, which the watchdog reports, instead
     * of returning wrong data.
     */
    private void complete(HcclCalls calls, long output, int more) {
        long longest = Arrays.stream(bytes).max().orElse(0);
        long room = aligned(Math.min(largestSlice, longest) + more);
        // The input of a rank whose part is shorter than the slice, and the gathered slices.
        long given = scratch.take((bytes.length + 1) * room, calls.stream());
        long gathered = given + room;
        long mine = output;
        for (int i = 0; i < rank; i++) {
            mine += bytes[i];
        }
        for (long done = 0; done < longest; done += largestSlice) {
            boolean last = longest - done <= largestSlice;
            long length = last ? longest - done + more : largestSlice;
            long own = within(bytes[rank] - done, length);
            if (own < length) {
                calls.copy(mine + done, given, own);
            }
            long from = own < length ? given : mine + done;
            calls.allGather(from, gathered, length, DataType.UINT8);
            long part = output;
            for (int source = 0; source < bytes.length; source++) {
                if (source != rank) {
                    long wanted = within(bytes[source] - done, length);
                    calls.copy(gathered + source * length, part + done, wanted);
                }
                part += bytes[source];
            }
        }
        scratch.release(calls.stream());
    }

    private static long aligned(long bytes) {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    private static long within(long rest, long length) {
        return Math.max(0, Math.min(rest, length));
    }
}
