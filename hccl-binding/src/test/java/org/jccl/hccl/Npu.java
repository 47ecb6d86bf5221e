package org.jccl.hccl;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import java.time.Duration;
import org.jccl.Stream;
import org.jccl.Tensor;

/** What a user's own code does on a device beside collectives: the mock's kernels. */
final class Npu {

    private Npu() {}

    private static Function kernel(String name) {
        return NativeLibrary.getInstance(System.getProperty("org.jccl.hccl.acl")).getFunction(name);
    }

    /** Enqueues writing one value to all elements. */
    static void fill(Tensor tensor, float value, Stream stream) {
        Object[] arguments = {tensor.address(), value, tensor.count(), stream.handle()};
        CannErrors.check(kernel("mockAclFill").invokeInt(arguments), "mockAclFill");
    }

    /** Enqueues work that takes some time. */
    static void busy(Duration time, Stream stream) {
        Object[] arguments = {time.toNanos() / 1000, stream.handle()};
        CannErrors.check(kernel("mockAclBusy").invokeInt(arguments), "mockAclBusy");
    }
}
