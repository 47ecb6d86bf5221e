package org.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.apache.spark.resource.ResourceInformation;
import org.jccl.Device;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

class TaskDevicesTest {

    private static Map<String, ResourceInformation> resource(String name, String... addresses) {
        return Map.of(name, new ResourceInformation(name, addresses));
    }

    @Test
    void aGpuIsADeviceOfCuda() {
        assertThat(TaskDevices.device(resource("gpu", "2", "3"), "cuda"))
                .contains(new Device("cuda", 2));
        assertThat(TaskDevices.device(resource("npu", "7"), "npu")).contains(new Device("npu", 7));
        assertThat(TaskDevices.device(resource("npu", "7"), "cuda")).isEmpty();
        assertThat(TaskDevices.device(Map.of(), "cuda")).isEmpty();
    }

    @Test
    void anAddressMustBeANumber() {
        assertThatThrownBy(() -> TaskDevices.device(resource("gpu", "GPU-8f3a"), "cuda"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("GPU-8f3a")
                .hasMessageContaining("spark.executor.resource.gpu.discoveryScript");
        assertThatThrownBy(() -> TaskDevices.device(resource("gpu"), "cuda"))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> TaskDevices.device(resource("gpu", "-1"), "cuda"))
                .isInstanceOf(UsageException.class);
    }

    @Test
    void aBackendGetsADeviceOnlyOfItsOwnTypes() {
        Map<String, ResourceInformation> gpu = resource("gpu", "5");
        assertThat(TaskDevices.ofBackend(gpu, "gloo")).isEmpty();
        assertThat(TaskDevices.ofBackend(gpu, "cpu:gloo")).isEmpty();
        assertThat(TaskDevices.ofBackend(gpu, "CPU:gloo, CUDA:nccl"))
                .contains(new Device("cuda", 5));
        assertThat(TaskDevices.ofBackend(resource("npu", "1"), "cuda:gloo")).isEmpty();
        assertThat(TaskDevices.ofBackend(resource("cpu", "0"), "gloo")).contains(Device.CPU);
    }
}
