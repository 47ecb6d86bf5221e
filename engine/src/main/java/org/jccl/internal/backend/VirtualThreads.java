package org.jccl.internal.backend;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/** Distinguishes virtual threads from platform threads, on any Java version. */
public final class VirtualThreads {

    private static final MethodHandle IS_VIRTUAL = isVirtual();

    private VirtualThreads() {}

    /** Returns whether the calling thread is virtual. */
    public static boolean isCurrent() {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Throws if the calling thread is virtual. Forming a group blocks in native code, which pins
     * the carriers that other ranks of this process may need.
     */
    public static void refuseForming(FailureContext where, String call) {
        if (isCurrent()) {
            throw new UsageException(
                    where,
                    call
                            + ": a group cannot be made on a virtual thread, because forming it blocks"
                            + " in native code; call it on a platform thread. Operations may be"
                            + " issued on virtual threads if the backend allows it");
        }
    }

    /** Thread.isVirtual exists from Java 21 on; before there are no virtual threads. */
    private static MethodHandle isVirtual() {
        try {
            return MethodHandles.lookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }
}
