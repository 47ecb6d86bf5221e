package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

class LocalAddressTest {

    private static LocalAddress choose(GlooOptions options, Map<String, String> environment) {
        return LocalAddress.choose(Optional.ofNullable(options), Optional.empty(), environment);
    }

    @Test
    void optionsGoBeforeTheEnvironment() {
        LocalAddress chosen =
                choose(GlooOptions.onHost("127.0.0.2"), Map.of("GLOO_SOCKET_IFNAME", "lo"));
        assertThat(chosen.address().getHostAddress()).isEqualTo("127.0.0.2");
        assertThat(chosen.asked()).isTrue();
    }

    @Test
    void theInterfaceOfTheEnvironmentGoesBeforeTheRoute() {
        LocalAddress chosen =
                choose(null, Map.of("GLOO_SOCKET_IFNAME", "lo,eth9", "MASTER_ADDR", "127.0.0.9"));
        assertThat(chosen.address().getHostAddress()).isEqualTo("127.0.0.1");
        assertThat(chosen.reason()).contains("GLOO_SOCKET_IFNAME=lo,eth9");
        assertThat(chosen.asked()).isTrue();
    }

    @Test
    void theRouteToALocalMasterIsLoopback() {
        LocalAddress chosen = choose(null, Map.of("MASTER_ADDR", "localhost"));
        assertThat(chosen.address().isLoopbackAddress()).isTrue();
        assertThat(chosen.reason()).contains("MASTER_ADDR=localhost");
        assertThat(chosen.asked()).isFalse();
    }

    private static LocalAddress withStore(String host, Map<String, String> environment) {
        return LocalAddress.choose(Optional.empty(), Optional.of(host), environment);
    }

    @Test
    void theRouteToTheStoreIsTakenWhereNoMasterIsNamed() {
        LocalAddress chosen = withStore("127.0.0.1", Map.of());
        assertThat(chosen.address().getHostAddress()).isEqualTo("127.0.0.1");
        assertThat(chosen.reason()).contains("store's host 127.0.0.1");
    }

    @Test
    void aMasterThatIsNotFoundLeavesTheRouteToTheStore() {
        LocalAddress chosen = withStore("::1", Map.of("MASTER_ADDR", "no-such-host.invalid"));
        assertThat(chosen.address().isLoopbackAddress()).isTrue();
        assertThat(chosen.reason()).contains("store's host ::1");
    }

    @Test
    void withoutAnyHintTheAddressCanBeBound() throws Exception {
        InetAddress address = choose(null, Map.of()).address();
        try (var socket = new java.net.ServerSocket(0, 1, address)) {
            assertThat(socket.isBound()).isTrue();
        }
    }

    @Test
    void anInterfaceThatDoesNotExistIsNamedWithThoseThatDo() {
        assertThatThrownBy(() -> choose(GlooOptions.onInterface("nic9"), Map.of()))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("nic9")
                .hasMessageContaining("lo");
    }

    @Test
    void aHostThatIsAnotherMachineIsRefused() {
        assertThatThrownBy(() -> choose(GlooOptions.onHost("192.0.2.1"), Map.of()))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("192.0.2.1")
                .hasMessageContaining("not an address of this machine");
    }

    @Test
    void optionsTakeOneOfTheTwo() {
        assertThatThrownBy(
                        () ->
                                new GlooOptions(
                                        Optional.of("lo"), Optional.of("127.0.0.1"), Duration.ZERO))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("not both");
    }
}
