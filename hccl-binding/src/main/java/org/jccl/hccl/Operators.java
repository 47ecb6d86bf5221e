package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.List;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.NativeException;
import org.jccl.spi.CleanUp;

/**
 * Enqueues the element-wise operator of CANN that multiplies with a factor. For one thread at a
 * time.
 */
final class Operators {

    static final List<String> REQUIRED =
            List.of(
                    "aclCreateTensor",
                    "aclDestroyTensor",
                    "aclCreateScalar",
                    "aclDestroyScalar",
                    "aclnnInplaceMulsGetWorkspaceSize",
                    "aclnnInplaceMuls");

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

    /** Multiplies each element with a factor. */
    void scale(long address, long count, DataType type, double factor, long stream) {
        boolean wide = type == DataType.FLOAT64;
        if (wide) {
            memory.setDouble(FACTOR, factor);
        } else {
            memory.setFloat(FACTOR, (float) factor);
        }
        int factorType = HcclTypes.operand(wide ? DataType.FLOAT64 : DataType.FLOAT32);
        long tensor = 0;
        long scalar = 0;
        try {
            tensor = tensor(address, count, type);
            scalar = Aclnn.aclCreateScalar(base + FACTOR, factorType);
            require(scalar, "aclCreateScalar");
            check(
                    Aclnn.aclnnInplaceMulsGetWorkspaceSize(
                            tensor, scalar, base + WORKSPACE_BYTES, base + EXECUTOR),
                    "aclnnInplaceMulsGetWorkspaceSize");
            long room = room(stream);
            check(
                    Aclnn.aclnnInplaceMuls(room, roomBytes(), executor(), stream),
                    "aclnnInplaceMuls");
            leaveRoom(stream);
        } finally {
            if (tensor != 0) {
                checkDestroyed(Aclnn.aclDestroyTensor(tensor), "aclDestroyTensor");
            }
            if (scalar != 0) {
                checkDestroyed(Aclnn.aclDestroyScalar(scalar), "aclDestroyScalar");
            }
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

    /** Logs a failure to destroy an argument: the operation was enqueued, or has failed already. */
    private static void checkDestroyed(int code, String call) {
        if (code != 0) {
            CleanUp.log("an operator's argument", failure(code, call));
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
