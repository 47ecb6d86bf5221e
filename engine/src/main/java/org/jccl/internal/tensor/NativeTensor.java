package org.jccl.internal.tensor;

import java.lang.reflect.Array;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.internal.checks.Require;
import org.jccl.internal.memory.HostMemory;
import org.jccl.internal.memory.Memory;
import org.jccl.internal.operation.MemoryUses;

/** A tensor: where its elements are, and the memory whose lifetime it shares. */
public final class NativeTensor implements Tensor {

    private final Memory memory;
    private final long address;
    private final long count;
    private final DataType dataType;
    private final Device device;

    /** Of memory that is owned, on a device; else null. */
    private final StreamUses uses;

    NativeTensor(
            Memory memory,
            long address,
            long count,
            DataType dataType,
            Device device,
            StreamUses uses) {
        this.memory = memory;
        this.address = address;
        this.count = count;
        this.dataType = dataType;
        this.device = device;
        this.uses = uses;
    }

    @Override
    public Tensor slice(long offset, long length) {
        if (offset < 0 || length < 0 || offset > count - length) {
            throw usage("slice of " + length + " elements at " + offset + " is not inside " + this);
        }
        return new NativeTensor(
                memory, address + offset * dataType.size(), length, dataType, device, uses);
    }

    @Override
    public Tensor copyFrom(Object values) {
        long bytes = checkArray(values);
        try {
            requireUnused(bytes, true);
            if (device.isCpu()) {
                HostMemory.get().copyFromArray(ArrayBits.of(values), 0, address, bytes);
            } else if (bytes > 0) {
                DeviceCopies.fromArray(ArrayBits.of(values), bytes, address, device);
            }
        } finally {
            memory.release();
        }
        return this;
    }

    @Override
    public Tensor copyFrom(Tensor source) {
        Require.nonNull(source, "source");
        NativeTensor from = checkSource(source);
        if (!memory.acquire()) {
            throw usage(this + " is closed");
        }
        try {
            if (!from.memory.acquire()) {
                throw usage("source " + from + " is closed");
            }
            try {
                if (from.count > 0) {
                    copy(from);
                }
            } finally {
                from.memory.release();
            }
        } finally {
            memory.release();
        }
        return this;
    }

    private void copy(NativeTensor from) {
        long bytes = from.byteSize();
        requireUnused(bytes, true);
        from.requireUnused(bytes, false);
        if (!device.isCpu() && !from.device.isCpu()) {
            DeviceCopies.within(device, from.address, address, bytes, from.uses, uses);
        } else if (!device.isCpu()) {
            DeviceCopies.toDevice(from.address, address, bytes, device);
        } else if (!from.device.isCpu()) {
            DeviceCopies.toHost(from.address, address, bytes, from.device);
        } else {
            HostMemory.get().copy(from.address, address, bytes);
        }
    }

    /**
     * Checks that no operation in flight writes to the start of this tensor, or reads it if it is
     * to be written; on a device, none that the current stream does not wait for. The caller has
     * acquired the memory.
     */
    private void requireUnused(long bytes, boolean writes) {
        if (!memory.isShared()) {
            return;
        }
        FailureContext use = MemoryUses.find(device, address, address + bytes, writes);
        if (use != null) {
            throw new UsageException(
                    use,
                    "this operation has not completed%s, so the program must not %s its tensor %s; call await() on its Work first%s, or issue it with sync()"
                            .formatted(
                                    device.isCpu()
                                            ? ""
                                            : ", and the current stream does not wait for it",
                                    writes ? "write to" : "read",
                                    this,
                                    device.isCpu() ? "" : " where this stream is current"));
        }
    }

    private NativeTensor checkSource(Tensor source) {
        if (!(source instanceof NativeTensor from)) {
            throw usage(
                    "source is a %s, which was not made by the static methods of Tensor"
                            .formatted(source.getClass().getName()));
        }
        if (from.dataType != dataType) {
            throw usage("source is " + from + ", which has another type than " + this);
        }
        if (from.count > count) {
            throw usage("source is " + from + ", which is larger than " + this);
        }
        if (!device.isCpu() && !from.device.isCpu() && !device.equals(from.device)) {
            throw usage("source is on " + from.device + ", this tensor is on " + device);
        }
        return from;
    }

    @Override
    public <T> T copyTo(T values) {
        Object bits = ArrayBits.roomFor(values);
        long bytes = checkArray(values);
        try {
            requireUnused(bytes, false);
            if (device.isCpu()) {
                HostMemory.get().copyToArray(address, bits, 0, bytes);
            } else if (bytes > 0) {
                DeviceCopies.toArray(address, bits, bytes, device);
            }
        } finally {
            memory.release();
        }
        ArrayBits.copy(bits, values);
        return values;
    }

    /**
     * Checks an array against this tensor, retains the memory, and returns the size of the array in
     * bytes.
     */
    private long checkArray(Object values) {
        Require.nonNull(values, "values");
        DataType type = TensorFactory.arrayType(values);
        boolean sameKind =
                type == dataType
                        || (type.isInteger()
                                && type.size() == dataType.size()
                                && dataType.size() < 4);
        if (!sameKind) {
            throw usage(
                    "%s holds no elements of %s; use the array of %s-byte elements that matches it"
                            .formatted(values.getClass().getSimpleName(), this, dataType.size()));
        }
        long length = Array.getLength(values);
        if (length > count) {
            throw usage("an array of " + length + " elements is larger than " + this);
        }
        if (!memory.acquire()) {
            throw usage(this + " is closed");
        }
        return length * dataType.size();
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public long count() {
        return count;
    }

    @Override
    public long byteSize() {
        return count * dataType.size();
    }

    @Override
    public DataType dataType() {
        return dataType;
    }

    @Override
    public Device device() {
        return device;
    }

    /** Returns the memory, which all views share, for operations to retain. */
    public Memory memory() {
        return memory;
    }

    @Override
    public Runnable onClose(Runnable action) {
        Require.nonNull(action, "action");
        Runnable removal = memory.onClose(action);
        if (removal == null) {
            throw usage(this + " is closed");
        }
        return removal;
    }

    @Override
    public void close() {
        memory.close();
    }

    @Override
    public String toString() {
        return dataType + " x " + count + " on " + device;
    }

    private static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }
}
