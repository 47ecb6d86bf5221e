package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.List;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.NativeException;
import org.jccl.spi.CleanUp;

/**
 * Enqueues the element-wise operators of CANN that multiply with a factor and convert types. For
 * one thread at a time.
 */
final class Operators {

    static final List<String> REQUIRED =
            List.of(
                    "aclCreateTensor",
                    "aclDestroyTensor",
                    "aclCreateScalar",
                    "aclDestroyScalar",
                    "aclnnMulsGetWorkspaceSize",
                    "aclnnMuls",
                    "aclnnInplaceMulsGetWorkspaceSize",
                    "aclnnInplaceMuls",
                    "aclnnCastGetWorkspaceSize",
                    "aclnnCast");

    private static final String LIBRARY = "libopapi";

    private static final int DIMENSIONS = 0;
    private static final int STRIDES = 8;
    private static final int FACTOR = 16;
    private static final int WORKSPACE_BYTES = 24;
    private static final int EXECUTOR = 32;
    private static final int BYTES = 40;

    private final Memory memory = new Memory(BYTES);
    private final long base = Pointer.nativeValue(memory);
    private final DeviceScratch workspace;

    Operators(CannRuntime runtime) {
        this.workspace = new DeviceScratch(runtime);
        memory.setLong(STRIDES, 1);
    }

    /** Computes output = factor * input; both may be the same memory. */
    void scale(long input, long output, long count, DataType type, double factor, long stream) {
        boolean wide = type == DataType.FLOAT64;
        if (wide) {
            memory.setDouble(FACTOR, factor);
        } else {
            memory.setFloat(FACTOR, (float) factor);
        }
        int factorType = HcclTypes.operand(wide ? DataType.FLOAT64 : DataType.FLOAT32);
        long from = 0;
        long to = 0;
        long scalar = 0;
        try {
            from = tensor(input, count, type);
            scalar = Aclnn.aclCreateScalar(base + FACTOR, factorType);
            require(scalar, "aclCreateScalar");
            if (input == output) {
                check(
                        Aclnn.aclnnInplaceMulsGetWorkspaceSize(
                                from, scalar, base + WORKSPACE_BYTES, base + EXECUTOR),
                        "aclnnInplaceMulsGetWorkspaceSize");
                long room = room(stream);
                check(
                        Aclnn.aclnnInplaceMuls(room, roomBytes(), executor(), stream),
                        "aclnnInplaceMuls");
            } else {
                to = tensor(output, count, type);
                check(
                        Aclnn.aclnnMulsGetWorkspaceSize(
                                from, scalar, to, base + WORKSPACE_BYTES, base + EXECUTOR),
                        "aclnnMulsGetWorkspaceSize");
                long room = room(stream);
                check(Aclnn.aclnnMuls(room, roomBytes(), executor(), stream), "aclnnMuls");
            }
            leaveRoom(stream);
        } finally {
            destroy(from);
            destroy(to);
            if (scalar != 0) {
                checkDestroyed(Aclnn.aclDestroyScalar(scalar), "aclDestroyScalar");
            }
        }
    }

    /** Converts the input to another type. */
    void convert(long input, DataType type, long output, DataType target, long count, long stream) {
        long from = 0;
        long to = 0;
        try {
            from = tensor(input, count, type);
            to = tensor(output, count, target);
            check(
                    Aclnn.aclnnCastGetWorkspaceSize(
                            from,
                            HcclTypes.operand(target),
                            to,
                            base + WORKSPACE_BYTES,
                            base + EXECUTOR),
                    "aclnnCastGetWorkspaceSize");
            long room = room(stream);
            check(Aclnn.aclnnCast(room, roomBytes(), executor(), stream), "aclnnCast");
            leaveRoom(stream);
        } finally {
            destroy(from);
            destroy(to);
        }
    }

    private long tensor(long address, long count, DataType type) {
        memory.setLong(DIMENSIONS, count);
        long tensor =
                Aclnn.aclCreateTensor(
                        base + DIMENSIONS,
                        1,
                        HcclTypes.operand(type),
                        base + STRIDES,
                        0,
                        Aclnn.FORMAT_ND,
                        base + DIMENSIONS,
                        1,
                        address);
        require(tensor, "aclCreateTensor");
        return tensor;
    }

    private static void destroy(long tensor) {
        if (tensor != 0) {
            checkDestroyed(Aclnn.aclDestroyTensor(tensor), "aclDestroyTensor");
        }
    }

    /** Logs a failure to destroy an argument: the operation was enqueued, or has failed already. */
    private static void checkDestroyed(int code, String call) {
        if (code != 0) {
            CleanUp.failed("an operator's argument", failure(code, call));
        }
    }

    private long roomBytes() {
        return memory.getLong(WORKSPACE_BYTES);
    }

    private long executor() {
        return memory.getLong(EXECUTOR);
    }

    private long room(long stream) {
        return roomBytes() > 0 ? workspace.take(roomBytes(), stream) : 0;
    }

    private void leaveRoom(long stream) {
        if (roomBytes() > 0) {
            workspace.release(stream);
        }
    }

    private static void require(long handle, String call) {
        if (handle == 0) {
            throw failure(0, call);
        }
    }

    private static void check(int code, String call) {
        if (code != 0) {
            throw failure(code, call);
        }
    }

    private static NativeException failure(int code, String call) {
        String text = CannErrors.recentMessage();
        return new NativeException(
                FailureContext.NONE,
                LIBRARY,
                code,
                call
                        + " failed"
                        + (text.isEmpty() ? "" : ": " + text)
                        + "; are the operators of this device installed (ASCEND_OPP_PATH)?");
    }

    /** Frees the memory. The device is current and does not use it any more. */
    void close() {
        workspace.close();
        memory.close();
    }
}
