package org.jccl.sccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.EnumMap;
import java.util.Map;
import org.jccl.DataType;

/**
 * Builds AVG, which SCCL lacks. It is a sum, followed by a product: one rank gives the sum, the
 * next one the reciprocal of the number of ranks, and the others give ones. The result is rounded
 * once more than an average would be, and the sum can overflow even if the average would not.
 */
final class Averages {

    /** The number of elements of one product, and of the memory for factors. */
    private static final long CHUNK = 1 << 18;

    private final int rank;
    private final int size;
    private final TpuRuntime runtime;
    private final Scratch scratch;
    private final Map<DataType, Long> reciprocals = new EnumMap<>(DataType.class);
    private final Map<DataType, Long> ones = new EnumMap<>(DataType.class);

    Averages(int rank, int size, TpuRuntime runtime, Scratch scratch) {
        this.rank = rank;
        this.size = size;
        this.runtime = runtime;
        this.scratch = scratch;
    }

    /** Divides a sum that every rank has. */
    void divideOnAll(ScclCalls calls, long sum, long count, DataType type) {
        for (long done = 0; done < count; done += CHUNK) {
            long part = sum + done * type.size();
            long input = rank == 0 ? part : factors(type, rank == 1);
            long elements = Math.min(CHUNK, count - done);
            calls.allReduce(input, part, elements, type, ScclTypes.PRODUCT);
        }
    }

    /** Divides a sum that the root has; elsewhere {@code sum} is not used. */
    void divideOnRoot(ScclCalls calls, long sum, long count, DataType type, int root) {
        for (long done = 0; done < count; done += CHUNK) {
            long elements = Math.min(CHUNK, count - done);
            long part = sum + done * type.size();
            boolean next = rank == (root + 1) % size;
            long input = rank == root ? part : factors(type, next);
            long output =
                    rank == root ? part : scratch.reserve(calls.queue(), elements * type.size());
            calls.reduce(input, output, elements, type, ScclTypes.PRODUCT, root);
        }
    }

    private long factors(DataType type, boolean reciprocal) {
        Map<DataType, Long> made = reciprocal ? reciprocals : ones;
        Long address = made.get(type);
        if (address == null) {
            address = fill(type, reciprocal ? 1f / size : 1f);
            made.put(type, address);
        }
        return address;
    }

    private long fill(DataType type, float value) {
        long bytes = CHUNK * type.size();
        long address = runtime.allocate(bytes);
        try (Memory host = new Memory(bytes)) {
            for (long i = 0; i < CHUNK; i++) {
                switch (type) {
                    case FLOAT32 -> host.setFloat(i * Float.BYTES, value);
                    case FLOAT16 -> host.setShort(i * Short.BYTES, float16(value));
                    case BFLOAT16 -> host.setShort(i * Short.BYTES, bfloat16(value));
                    default -> throw new IllegalArgumentException("no factors of " + type);
                }
            }
            // A synchronous copy: no stream uses this memory yet, and a stream may be busy.
            TpuErrors.checkRuntime(
                    Tpurt.tpuMemcpyH2D(TpuRuntime.raw(address), Pointer.nativeValue(host), bytes),
                    "tpuMemcpyH2D");
        }
        return address;
    }

    /** For numbers from 1/16 to 1, which are normal. */
    static short float16(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (short) (bits - 0x38000000 + 0xfff + (bits >>> 13 & 1) >>> 13);
    }

    static short bfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (short) (bits + 0x7fff + (bits >>> 16 & 1) >>> 16);
    }

    /** Frees the factors. No operation may use them any more. */
    void free() {
        reciprocals.values().forEach(runtime::free);
        ones.values().forEach(runtime::free);
        reciprocals.clear();
        ones.clear();
    }
}
