package org.jccl;

import java.util.Locale;

/**
 * A device that holds tensors.
 *
 * @param type {@code cpu}, or the lower-case name of the devices of a binding, for instance {@code
 *     cuda}
 * @param index number of the device on this host, 0 for the CPU
 */
public record Device(String type, int index) {

    /** The memory of the host. */
    public static final Device CPU = new Device("cpu", 0);

    /**
     * Checks the arguments.
     *
     * @param type lower case
     * @param index from 0
     * @throws UsageException if the type is empty or not lower case, or the index is negative, or
     *     not 0 for the CPU
     */
    public Device {
        if (type == null || type.isEmpty() || !type.equals(type.toLowerCase(Locale.ROOT))) {
            throw new UsageException(
                    FailureContext.NONE, "device type must be lower case text, got '" + type + "'");
        }
        if (index < 0) {
            throw new UsageException(
                    FailureContext.NONE, "device index must not be negative, got " + index);
        }
        if (index > 0 && type.equals("cpu")) {
            throw new UsageException(
                    FailureContext.NONE, "the CPU is one device, with the index 0, got " + index);
        }
    }

    /**
     * Parses {@code type} or {@code type:index}. Case is ignored.
     *
     * @param text for instance {@code cpu} or {@code npu:3}
     * @return the device
     * @throws UsageException if the text is malformed
     */
    public static Device parse(String text) {
        if (text == null) {
            throw badText(null, null);
        }
        String[] parts = text.toLowerCase(Locale.ROOT).split(":", -1);
        try {
            if (parts.length == 1) {
                return new Device(parts[0], 0);
            }
            if (parts.length == 2) {
                return new Device(parts[0], Integer.parseInt(parts[1]));
            }
        } catch (NumberFormatException e) {
            throw badText(text, e);
        }
        throw badText(text, null);
    }

    private static UsageException badText(String text, Throwable cause) {
        return new UsageException(
                FailureContext.NONE,
                "device must be 'type' or 'type:index', for instance 'cpu', got '" + text + "'",
                cause);
    }

    /**
     * Returns whether this is host memory.
     *
     * @return true for {@link #CPU}
     */
    public boolean isCpu() {
        return type.equals("cpu");
    }

    @Override
    public String toString() {
        return isCpu() ? type : type + ":" + index;
    }
}
