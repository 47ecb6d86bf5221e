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
 * Gradients that are reduced as one message. On the CPU an element more says whether a rank sent
 * the bucket without having all of its gradients. Guarded by the reducer's lock, but for the copies
 * of gradients.
 */
final class Bucket implements AutoCloseable {

    final List<Gradient> gradients;
    private final Tensor memory;
    private final Wire wire;

    /** Where gradients are float16 on the CPU, else null. */
    private final HalfDivision division;

    /** The element more, or null on devices, where reading it would block the host. */
    private final Tensor flag;

    /** Where the host writes and reads it: an array would be garbage of a view each time. */
    private final ByteBuffer flagBytes;

    private final Tensor flagCopy;

    /** The streams on which gradients of this step were produced. */
    private final List<Stream> producers = new ArrayList<>();

    private int missing;
    private Work work;

    /** Makes the memory, and gives each gradient its view of it. */
    Bucket(List<Gradient> gradients, Device device, DataType wireType, BucketMemory allocator) {
        this.gradients = gradients;
        DataType type = gradients.get(0).type;
        long count = gradients.stream().mapToLong(gradient -> gradient.count).sum();
        memory = allocated(allocator, device, type, count + (device.isCpu() ? 1 : 0));
        flag = device.isCpu() ? memory.slice(count, 1) : null;
        flagBytes = ByteBuffer.allocateDirect(type.size()).order(ByteOrder.nativeOrder());
        flagCopy = Tensor.of(flagBytes, type);
        wire = wireType == null ? null : new Wire(memory, wireType);
        division = type == DataType.FLOAT16 && device.isCpu() ? new HalfDivision(memory) : null;
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
                    "bucketMemory was asked for "
                            + type
                            + " x "
                            + count
                            + " on "
                            + device
                            + " and gave "
                            + memory);
        }
        return memory;
    }

    /** Lets the gradients lie here from now on, also with what they hold. */
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

    /** Counts one gradient that is here now. */
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
     * Starts the reduction, after what the gradients' streams have enqueued by now.
     *
     * @param complete whether this rank has what it is to have
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
                op.equals(ReduceOp.AVG)
                        && message.dataType() == DataType.FLOAT16
                        && memory.device().isCpu();
        int divisor = divides ? group.size() : 1;
        if (wire != null) {
            wire.encode(divisor);
        } else if (divides) {
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
     * @return false when a rank did not have all of its gradients; always true on devices
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

    /** Makes it ready for the next step. */
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
