package org.jccl.internal.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.host.ScriptedProvider;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DefaultTimeoutTest {

    @ParameterizedTest
    @CsvSource({
        "TORCH, cpu, 30",
        "TORCH, cuda cpu, 30",
        "TORCH_2_15, cuda, 10",
        "NONE, cpu, 10",
        "NONE, cuda cpu, 10"
    })
    void pytorchsRanksWaitLongerForEachOtherOnTheCpu(Interop interop, String types, int minutes) {
        ScriptedProvider provider = new ScriptedProvider(config -> null);
        List<Backend> backends =
                Arrays.stream(types.split(" "))
                        .map(type -> new Backend(provider, new Device(type, 0), Optional.empty()))
                        .toList();
        assertThat(DefaultProcessGroupBuilder.defaultTimeout(interop, backends))
                .isEqualTo(Duration.ofMinutes(minutes));
    }
}
