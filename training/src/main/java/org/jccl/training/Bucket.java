package org.jccl.training;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;

/**
 * Gradients that are reduced as one message. On the CPU one additional element shows whether a rank
 * sent the bucket incomplete. Guarded by the reducer's lock, except for the copies of gradients.
 */
final class Bucket implements AutoCloseable {

    final List<Gradient> gradients;
    private final Tensor memory;
    private final Wire wire;

    /** Whether the backend divides averages only after it has added the inputs. */
    private final boolean dividesLate;

    /** Null unless this divides float16 gradients in their memory. */
    private HalfDivision division;

    /** The flag; null on devices, because reading it there would block the host. */
    private final Tensor flag;

    /** The host's access to the flag. An array would need a new view on each access. */
    private final ByteBuffer flagBytes;

    private final Tensor flagCopy;

    /** The streams on which gradients of this step were produced. */
    private final List<Stream> producers = new ArrayList<>();

    private int missing;
    private Work work;

    /** Allocates the memory and the view of each gradient. */
    Bucket(
            List<Gradient> gradients,
            Device device,
            DataType wireType,
            BucketMemory allocator,
            boolean dividesLate) {
        this.gradients = gradients;
        this.dividesLate = dividesLate;
        DataType type = gradients.get(0).type;
        long count = gradients.stream().mapToLong(gradient -> gradient.count).sum();
        memory = allocated(allocator, device, type, count + (device.isCpu() ? 1 : 0));
        flag = device.isCpu() ? memory.slice(count, 1) : null;
        flagBytes = ByteBuffer.allocateDirect(type.size()).order(ByteOrder.nativeOrder());
        flagCopy = Tensor.of(flagBytes, type);
        wire = wireType == null ? null : new Wire(memory, wireType);
        missing = gradients.size();
    }

    private static Tensor allocated(
            BucketMemory allocator, Device device, DataType type, long count) {
        Tensor memory = allocator.allocate(device, type, count);
        if (memory == null
                || memory.dataType() != type
                || memory.count() != count
                || !memory.device().equals(device)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "bucketMemory was called for "
                            + type
                            + " x "
                            + count
                            + " on "
                            + device
                            + " and returned "
                            + memory);
        }
        return memory;
    }

    /** Makes this the bucket of its gradients, optionally with a copy of their contents. */
    void adopt(boolean withContents) {
        long offset = 0;
        for (Gradient gradient : gradients) {
            Tensor view = memory.slice(offset, gradient.count);
            if (withContents && gradient.own == null) {
                view.copyFrom(gradient.view);
            }
            gradient.view = view;
            gradient.bucket = this;
            offset += gradient.count;
        }
    }

    /** Counts one gradient that is now in the bucket. */
    void add(Stream producer) {
        missing--;
        if (producer != null && !hasProducer(producer)) {
            producers.add(producer);
        }
    }

    private boolean hasProducer(Stream stream) {
        for (int i = 0; i < producers.size(); i++) {
            if (producers.get(i).handle() == stream.handle()) {
                return true;
            }
        }
        return false;
    }

    boolean isFull() {
        return missing == 0;
    }

    /**
     * Starts the reduction, ordered after the work on the gradients' streams.
     *
     * @param complete whether this rank has all gradients that it must contribute
     */
    void issue(ProcessGroup group, ReduceOp op, StreamOrder order, boolean complete) {
        for (int i = 0; i < producers.size(); i++) {
            order.currentWaitsFor(producers.get(i));
        }
        if (flag != null) {
            setFlag(!complete);
        }
        Tensor message = wire == null ? memory : wire.tensor();
        boolean divides =
                dividesLate && op.equals(ReduceOp.AVG) && message.dataType() == DataType.FLOAT16;
        int divisor = divides ? group.size() : 1;
        if (wire != null) {
            wire.encode(divisor);
        } else if (divides) {
            division = division == null ? new HalfDivision(memory) : division;
            division.by(divisor);
        }
        work = group.allReduce(message, divides ? ReduceOp.SUM : op);
    }

    private void setFlag(boolean notComplete) {
        float value = notComplete ? 1 : 0;
        switch (memory.dataType()) {
            case FLOAT32 -> flagBytes.putFloat(0, value);
            case FLOAT64 -> flagBytes.putDouble(0, value);
            case FLOAT16 -> flagBytes.putShort(0, HalfFloats.toFloat16(value));
            default -> flagBytes.putShort(0, HalfFloats.toBfloat16(value));
        }
        flag.copyFrom(flagCopy);
    }

    /**
     * Waits for the reduction, as {@link Work#await} does.
     *
     * @return false if a rank sent the bucket incomplete; always true on devices
     */
    boolean await() {
        work.await();
        work = null;
        if (wire != null) {
            wire.decode();
        }
        return flag == null || !isFlagSet();
    }

    private boolean isFlagSet() {
        flagCopy.copyFrom(flag);
        return switch (memory.dataType()) {
            case FLOAT32 -> flagBytes.getFloat(0) != 0;
            case FLOAT64 -> flagBytes.getDouble(0) != 0;
            default -> flagBytes.getShort(0) != 0;
        };
    }

    /** Prepares the bucket for the next step. */
    void reset() {
        missing = gradients.size();
        producers.clear();
        work = null;
    }

    @Override
    public void close() {
        memory.close();
        if (wire != null) {
            wire.close();
        }
    }
}
