package org.jccl.testing;

import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;

/** Numbers in the memory of devices. */
public final class DeviceTensors {

    private DeviceTensors() {}

    /**
     * Makes a tensor.
     *
     * @param device where
     * @param values its elements
     * @return a tensor that the caller closes
     */
    public static Tensor floats(Device device, float... values) {
        return Tensor.allocate(device, DataType.FLOAT32, values.length).copyFrom(values);
    }

    /**
     * Reads a tensor of floats.
     *
     * @param tensor on any device
     * @return its elements
     */
    public static float[] read(Tensor tensor) {
        return tensor.copyTo(new float[Math.toIntExact(tensor.count())]);
    }
}
