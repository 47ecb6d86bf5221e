package org.jccl.internal.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.time.Duration;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.StoreException;
import org.jccl.store.TcpStoreServer;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WorldStoreTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));
    private static final byte[] SECRET = WorldStore.newSecret();

    private static WorldStore at(int port, String... addresses) {
        return new WorldStore(port, HexFormat.of().formatHex(SECRET), List.of(addresses));
    }

    @Test
    void whatRank0TellsArrives() {
        WorldStore told = WorldStore.ofThisHost(29500, SECRET);
        byte[] bytes = new byte[WorldStore.BYTES];
        told.encode(bytes);
        assertThat(WorldStore.decode(bytes)).isEqualTo(told);
        assertThat(told.addresses()).isNotEmpty();
        assertThat(told.secretBytes()).isEqualTo(SECRET);
    }

    @Test
    void asManyLongAddressesAsAHostMayHaveFit() {
        String longest = "fd77:1111:2222:3333:4444:5555:6666:7777%enp0s31f6.4094";
        WorldStore told =
                at(
                        65535,
                        Collections.nCopies(WorldStore.MAX_ADDRESSES, longest)
                                .toArray(String[]::new));
        byte[] bytes = new byte[WorldStore.BYTES];
        told.encode(bytes);
        assertThat(WorldStore.decode(bytes)).isEqualTo(told);
    }

    @Test
    void noScopeOfThisHostIsTold() throws IOException {
        byte[] ownNetwork = new byte[16];
        ownNetwork[0] = (byte) 0xfd;
        ownNetwork[15] = 2;
        InetAddress scoped = Inet6Address.getByAddress(null, ownNetwork, 7);
        assertThat(scoped.getHostAddress()).contains("%7");
        assertThat(WorldStore.text(scoped)).isEqualTo("fd00:0:0:0:0:0:0:2");
        assertThat(WorldStore.text(InetAddress.getByName("10.0.0.1"))).isEqualTo("10.0.0.1");
    }

    @Test
    void anAddressOfAnotherServiceIsPassedOver() {
        try (TcpStoreServer right =
                        TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0), SECRET);
                TcpStoreServer wrong =
                        TcpStoreServer.bind(
                                new InetSocketAddress("127.0.0.2", right.port()),
                                WorldStore.newSecret());
                HostedStore found =
                        HostedStore.connectToAny(
                                at(wrong.port(), "127.0.0.3", "127.0.0.2", "127.0.0.1"), TIMEOUT)) {
            assertThat(found.client().host()).isEqualTo("127.0.0.1");
            assertThat(found.client().timeout()).isEqualTo(TIMEOUT);
            assertThat(found.client().add("key", 1)).isEqualTo(1);
        }
    }

    @Test
    void thatNoAddressAnswersNamesAll() throws Exception {
        int port;
        try (TcpStoreServer gone = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0))) {
            port = gone.port();
        }
        WorldStore told = at(port, "127.0.0.3", "127.0.0.2");
        assertThatThrownBy(() -> HostedStore.connectToAny(told, expires(Duration.ofMillis(200))))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("[127.0.0.3, 127.0.0.2], port " + port);
    }

    @Test
    void aStoreOnIpv6LoopbackIsNotOnOtherInterfaces() throws Exception {
        Assumptions.assumeTrue(hasIpv6Loopback(), "this host has no ::1");
        try (HostedStore store = HostedStore.serve("::1", 0, Map.of(), Optional.empty(), TIMEOUT)) {
            assertThat(store.client().add("key", 1)).isEqualTo(1);
            assertThatThrownBy(() -> new Socket("127.0.0.1", store.port()).close())
                    .isInstanceOf(ConnectException.class);
        }
    }

    private static boolean hasIpv6Loopback() throws IOException {
        InetAddress loopback = InetAddress.getByName("::1");
        return loopback instanceof Inet6Address
                && NetworkInterface.getByInetAddress(loopback) != null;
    }
}
