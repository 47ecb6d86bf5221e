package org.jccl.hccl;

/**
 * The device of each thread. ACL counts how often a device is set, and asking it costs as much as
 * setting, so threads remember; a thread on which other code sets another device confuses HCCL too,
 * which remembers as well.
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
