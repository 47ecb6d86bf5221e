package org.jccl.hccl;

/**
 * The device of each thread. It is cached, because ACL counts how often a device is set, and a
 * query costs as much as setting it. Other code must not set another device on such a thread: HCCL
 * caches the device too.
 */
final class CurrentDevice {

    private static final class Remembered {
        int device = -1;
    }

    private final ThreadLocal<Remembered> current = ThreadLocal.withInitial(Remembered::new);

    /** Makes a device current on the calling thread. */
    void set(int device) {
        Remembered mine = current.get();
        if (mine.device != device) {
            CannErrors.check(Acl.aclrtSetDevice(device), "aclrtSetDevice");
            mine.device = device;
        }
    }

    /** The calling thread's device, or -1. */
    int get() {
        return current.get().device;
    }
}
