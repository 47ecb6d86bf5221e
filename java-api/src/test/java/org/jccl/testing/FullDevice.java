package org.jccl.testing;

import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;

/**
 * Allocates more than a device has, in a {@link ChildJvm}, and prints what that threw. Some
 * libraries return success and the address 0 then.
 */
public final class FullDevice {

    /** Printed when a smaller tensor still works. */
    public static final String STILL_WORKS = "a tensor that fits has 7.0";

    private static final long TOO_MANY = 1L << 40;

    private FullDevice() {}

    /**
     * Allocates, on the device that the system property {@code device} names.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        Device device = new Device(System.getProperty("device"), 0);
        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, TOO_MANY)) {
            System.out.println("allocated at " + tensor.address());
        } catch (OutOfMemoryError e) {
            System.out.println("OutOfMemoryError: " + e.getMessage());
        }
        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
            tensor.copyFrom(new float[] {7});
            System.out.println("a tensor that fits has " + tensor.copyTo(new float[1])[0]);
        }
        Runtime.getRuntime().halt(0);
    }
}
