package org.jccl.internal.backend;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

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
