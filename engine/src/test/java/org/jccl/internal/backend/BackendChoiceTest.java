package org.jccl.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.UsageException;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BackendChoiceTest {

    private static final Interop OTHER = Interop.TORCH;

    private static final Interop LATER = Interop.TORCH_2_15;

    /** A binding of which only the description matters. */
    private record Binding(String name, String type, int preference, boolean available)
            implements BackendProvider {

        @Override
        public Set<String> deviceTypes() {
            return Set.of(type);
        }

        @Override
        public Availability availability() {
            return available
                    ? new Availability.Available("1", "here")
                    : new Availability.Unavailable("no " + name, List.of());
        }

        @Override
        public Optional<Interop> named(String given, Interop interop) {
            return given.equals(name + "-later") && interop == OTHER
                    ? Optional.of(LATER)
                    : BackendProvider.super.named(given, interop);
        }

        @Override
        public Communicator create(CommunicatorConfig config) {
            throw new UnsupportedOperationException();
        }
    }

    private static final List<BackendProvider> PRESENT =
            List.of(
                    new Binding("slow", "cpu", 0, true),
                    new Binding("fast", "cpu", 1, true),
                    new Binding("missing", "npu", 1, false),
                    new Binding("chip", "gpu", 0, true),
                    new Binding("other", "tpu", 0, true));

    private static List<String> choose(
            List<BackendProvider> present, Optional<Device> device, Interop interop) {
        return describe(new BackendChoice(present, device, interop, Map.of()), Optional.empty());
    }

    private static List<String> describe(BackendChoice choice, Optional<String> names) {
        return choice.choose(names).all().stream()
                .map(each -> each.device() + "=" + each.provider().name())
                .toList();
    }

    @Test
    void eachTypeOfDeviceGetsItsBestBackend() {
        assertThat(choose(PRESENT, Optional.empty(), Interop.NONE))
                .containsExactlyInAnyOrder("gpu:0=chip", "tpu:0=other", "cpu=fast")
                .endsWith("cpu=fast");
    }

    @Test
    void aDeviceLeavesOutOtherAccelerators() {
        assertThat(choose(PRESENT, Optional.of(new Device("gpu", 3)), Interop.NONE))
                .containsExactly("gpu:3=chip", "cpu=fast");
        assertThat(choose(PRESENT, Optional.of(Device.CPU), Interop.NONE))
                .containsExactly("cpu=fast");
    }

    @Test
    void withRanksOfAnotherApiThereIsOneBackend() {
        assertThat(choose(PRESENT.subList(0, 4), Optional.empty(), OTHER))
                .containsExactly("gpu:0=chip");
        assertThat(choose(PRESENT.subList(0, 3), Optional.empty(), OTHER))
                .containsExactly("cpu=fast");
    }

    @Test
    void aDeviceWithoutABackendIsAnErrorThatSaysWhatWasTried() {
        assertThatThrownBy(() -> choose(PRESENT, Optional.of(new Device("npu", 1)), Interop.NONE))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("for npu:1")
                .hasMessageContaining("missing: no missing");
        assertThatThrownBy(() -> choose(List.of(), Optional.empty(), Interop.NONE))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("add the dependency");
    }

    @ParameterizedTest
    @CsvSource({
        "chip, TORCH, TORCH",
        "chip-later, TORCH, TORCH_2_15",
        "'cpu:fast,gpu:chip-later', TORCH, TORCH_2_15",
        "'gpu:chip-later,cpu:fast', TORCH, TORCH_2_15"
    })
    void aNameMaySayMoreAboutTheOtherRanks(String names, Interop given, Interop meant) {
        Backends.Chosen chosen =
                new BackendChoice(PRESENT, Optional.empty(), given, Map.of())
                        .choose(Optional.of(names));
        assertThat(chosen.interop()).isEqualTo(meant);
        assertThat(chosen.all()).anyMatch(each -> each.provider().name().equals("chip"));
    }

    @Test
    void suchANameIsUnknownWithoutThoseRanks() {
        BackendChoice choice = new BackendChoice(PRESENT, Optional.empty(), Interop.NONE, Map.of());
        assertThatThrownBy(() -> choice.choose(Optional.of("chip-later")))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("no binding for backend 'chip-later'");
    }

    @ParameterizedTest
    @CsvSource({"'cpu:fast:x'", "'cpu:fast,cpu:slow'", "'fast,chip'", "' '", "'gpu:fast'"})
    void malformedNamesAreRejected(String names) {
        BackendChoice choice = new BackendChoice(PRESENT, Optional.empty(), Interop.NONE, Map.of());
        assertThatThrownBy(() -> choice.choose(Optional.of(names)))
                .isInstanceOf(UsageException.class);
    }

    @ParameterizedTest
    @CsvSource({"slowly", "cpu:slowly", "'gpu:chip,cpu:slowly'"})
    void anUnknownNameIsAnsweredWithTheKnownOnes(String names) {
        assertThatThrownBy(() -> choose(Optional.of(names)))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageStartingWith("no binding for backend 'slowly' is on the class path")
                .hasMessageContaining("found [chip, fast, missing, other, slow]")
                .hasMessageContaining("JCCL has [gloo, hccl, mpi, nccl, sccl]");
    }

    @Test
    void theArtifactOfAPublishedNameIsNamed() {
        assertThatThrownBy(() -> choose(Optional.of("nccl")))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("add the dependency org.jccl:jccl-nccl")
                .hasMessageContaining("META-INF/services");
    }

    private static Backends.Chosen choose(Optional<String> names) {
        return new BackendChoice(PRESENT, Optional.empty(), Interop.NONE, Map.of()).choose(names);
    }

    @Test
    void thePublishedBackendsAreTheTreesBindings() throws IOException {
        try (Stream<Path> modules = Files.list(Path.of(".."))) {
            assertThat(
                            modules.map(module -> module.getFileName().toString())
                                    .filter(module -> module.endsWith("-binding"))
                                    .map(module -> module.replace("-binding", "")))
                    .containsExactlyInAnyOrderElementsOf(BackendChoice.published());
        }
    }
}
