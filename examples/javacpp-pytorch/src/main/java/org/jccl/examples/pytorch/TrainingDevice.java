package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.globalContext;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.jccl.Device;
import org.jccl.ProcessGroup;

/**
 * Where an example trains: on the CPU, with Gloo, or after {@code --device cuda} each rank on its
 * own GPU, with NCCL. {@code JCCL_EXAMPLE_DEVICE} is the number of the GPU, if ranks share one.
 *
 * @param device of this rank
 * @param arguments the other ones of the program
 */
record TrainingDevice(Device device, List<String> arguments) {

    static TrainingDevice of(String... args) {
        List<String> others = new ArrayList<>(List.of(args));
        int option = others.indexOf("--device");
        if (option < 0) {
            return new TrainingDevice(Device.CPU, others);
        }
        others.remove(option);
        String type = option < others.size() ? others.remove(option) : "nothing";
        if (!type.equals("cpu") && !type.equals("cuda")) {
            throw new IllegalArgumentException("--device is cpu or cuda, not " + type);
        }
        String local = System.getenv().getOrDefault("LOCAL_RANK", "0");
        String index = System.getenv().getOrDefault("JCCL_EXAMPLE_DEVICE", local);
        Device device = type.equals("cpu") ? Device.CPU : new Device(type, Integer.parseInt(index));
        return new TrainingDevice(device, others);
    }

    /** Joins all ranks. The examples also send numbers in host memory. */
    ProcessGroup world() {
        String backend = device.isCpu() ? "gloo" : "cpu:gloo,cuda:nccl";
        globalContext().setAllowTF32CuDNN(false); // so that results can be compared
        return ProcessGroup.builder().backend(backend).device(device).build();
    }

    private org.bytedeco.pytorch.Device ofPyTorch() {
        return new org.bytedeco.pytorch.Device(device.toString());
    }

    <M extends Module> M move(M module) {
        module.to(ofPyTorch(), false);
        return module;
    }

    Tensor move(Tensor tensor) {
        return tensor.to(ofPyTorch(), tensor.scalar_type());
    }
}
