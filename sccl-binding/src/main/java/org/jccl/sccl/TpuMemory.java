package org.jccl.sccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.Arrays;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * The memory of a device that this process has allocated, and what is known of addresses before a
 * call. For the device's thread only.
 *
 * <p>The runtime reports no bad address: a synchronous copy hangs, and the event after an
 * asynchronous one never passes. Memory of other libraries cannot be checked.
 */
final class TpuMemory {

    private final int device;

    /** The first addresses of the allocations, ascending. */
    private long[] starts = new long[16];

    /** The number of bytes of each allocation. */
    private long[] sizes = new long[16];

    private int count;

    TpuMemory(int device) {
        this.device = device;
    }

    /** Allocates memory; returns 0 if the device has not enough left. */
    long allocate(long bytes) {
        try (Memory result = new Memory(Long.BYTES)) {
            result.clear();
            int code = Tpurt.tpuMalloc(Pointer.nativeValue(result), bytes);
            if (TpuErrors.isOutOfMemory(code)) {
                return 0;
            }
            TpuErrors.checkRuntime(code, "tpuMalloc");
            // The runtime of November 2024 returns 0 and the code of success if it has no memory.
            long address = result.getLong(0);
            if (address != 0) {
                add(TpuRuntime.raw(address), bytes);
            }
            return address;
        }
    }

    void free(long address) {
        TpuErrors.checkRuntime(Tpurt.tpuFree(TpuRuntime.raw(address)), "tpuFree");
        remove(TpuRuntime.raw(address));
    }

    /** Throws if a call must not use so many bytes at an address. */
    void check(long address, long bytes) {
        long start = TpuRuntime.raw(address);
        if (start == 0 || bytes < 0 || bytes > TpuRuntime.ADDRESS - start) {
            throw bad(address, bytes, "which is no memory of a device");
        }
        int place = Arrays.binarySearch(starts, 0, count, start);
        int before = place >= 0 ? place : -place - 2;
        if (before >= 0) {
            long left = starts[before] + sizes[before] - start;
            if (left > 0 && left < bytes) {
                throw bad(
                        address,
                        bytes,
                        "but the allocation at 0x"
                                + Long.toHexString(starts[before])
                                + " has "
                                + sizes[before]
                                + " bytes");
            }
        }
    }

    private UsageException bad(long address, long bytes, String why) {
        return new UsageException(
                FailureContext.NONE,
                "tpu:"
                        + device
                        + ": a call would use "
                        + bytes
                        + " bytes at 0x"
                        + Long.toHexString(address)
                        + ", "
                        + why);
    }

    private void add(long start, long bytes) {
        if (count == starts.length) {
            starts = Arrays.copyOf(starts, 2 * count);
            sizes = Arrays.copyOf(sizes, 2 * count);
        }
        int found = Arrays.binarySearch(starts, 0, count, start);
        int place = found >= 0 ? found : -found - 1;
        System.arraycopy(starts, place, starts, place + 1, count - place);
        System.arraycopy(sizes, place, sizes, place + 1, count - place);
        starts[place] = start;
        sizes[place] = bytes;
        count++;
    }

    private void remove(long start) {
        int place = Arrays.binarySearch(starts, 0, count, start);
        if (place >= 0) {
            System.arraycopy(starts, place + 1, starts, place, count - place - 1);
            System.arraycopy(sizes, place + 1, sizes, place, count - place - 1);
            count--;
        }
    }
}
