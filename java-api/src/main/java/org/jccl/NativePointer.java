package org.jccl;

import org.bytedeco.javacpp.Pointer;

/**
 * A stream or event as JavaCPP's presets represent it: a pointer whose address is the native
 * handle. Separate from {@link Stream} and {@link Event}, because not every program has JavaCPP.
 */
final class NativePointer extends Pointer {

    private NativePointer(long handle) {
        super((Pointer) null);
        address = handle;
    }

    /** Returns a pointer to a handle, or null for 0. */
    static Pointer of(long handle) {
        return handle == 0 ? null : new NativePointer(handle);
    }

    /** Returns the handle of a pointer, or 0 for null. */
    static long addressOf(Pointer pointer) {
        return pointer == null ? 0 : pointer.address();
    }
}
