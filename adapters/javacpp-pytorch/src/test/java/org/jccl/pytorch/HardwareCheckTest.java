package org.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.Callable;
import org.jccl.Device;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The checks for a device, on the CPU. */
class HardwareCheckTest {

    @BeforeAll
    static void load() {
        TorchLibrary.load();
    }

    @Test
    void allPassOnTheCpu() {
        TorchRanks.run(
                2,
                group -> {
                    for (Map.Entry<String, Callable<String>> each :
                            HardwareCheck.of(group, Device.CPU).entrySet()) {
                        assertThat(each.getValue().call()).as(each.getKey()).isNotEmpty();
                    }
                });
    }
}
