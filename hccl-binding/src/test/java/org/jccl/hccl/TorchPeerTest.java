package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.BufferedReader;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.PrefixStore;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.FreePort;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Java's communicator beside one of PyTorch's ranks, whose backend does with its stores what
 * torch_npu's does, on the mock library. Groups cannot be shared with torch_npu yet.
 */
@Tag("all")
final class TorchPeerTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(120));

    private static Process peer(int rank, int port) throws Exception {
        String script =
                Path.of(TorchPeerTest.class.getResource("torch_peer.py").toURI()).toString();
        ProcessBuilder builder =
                new ProcessBuilder(
                        TorchPython.require(),
                        "-W",
                        "ignore",
                        script,
                        Integer.toString(rank),
                        Integer.toString(port),
                        System.getProperty("org.jccl.hccl.acl"),
                        System.getProperty("org.jccl.hccl.library"));
        builder.environment().put("TORCH_CPP_LOG_LEVEL", "ERROR");
        return builder.redirectErrorStream(true).start();
    }

    /** As the builder gives it to the backend where ranks of PyTorch's are about. */
    private static CommunicatorConfig config(String name, int rank, Store store) {
        return new CommunicatorConfig(
                name,
                rank,
                2,
                Optional.of(store),
                TIMEOUT,
                TIMEOUT,
                new Device(HcclProvider.DEVICE_TYPE, rank),
                Interop.TORCH,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }

    private static float sum(CommunicatorConfig config, float value) {
        CannRuntime runtime = HcclLibraries.get().runtime();
        runtime.setDevice(config.device().index());
        try (HcclCommunicator group = HcclConnector.connect(config, HcclLibraries.get());
                Tensor x = Tensor.allocate(config.device(), DataType.FLOAT32, 1)) {
            x.copyFrom(new float[] {value});
            long stream = runtime.createStream(false);
            group.allReduce(x.address(), x.address(), 1, DataType.FLOAT32, ReduceOp.SUM, stream);
            runtime.synchronizeStream(stream);
            runtime.destroyStream(stream);
            return x.copyTo(new float[1])[0];
        }
    }

    private static void asRank(int rank, int port) {
        try (TcpStore store = TcpStore.connect("127.0.0.1", port, TIMEOUT)) {
            // PyTorch's rank 0 waits for as many.
            store.joinWorkers();
            Store world = new PrefixStore("0/", new PrefixStore("default_pg", store));
            Store second = new PrefixStore("1/", world);
            assertThat(sum(config("world", rank, new PrefixStore("npu/", world)), rank + 1))
                    .isEqualTo(3);
            assertThat(sum(config("second", rank, new PrefixStore("npu/", second)), 20))
                    .isEqualTo(30);
            store.await(List.of("peer is done"));
            store.add("java is done", 1);
        }
    }

    @Test
    void aRankOfTorchNpuFindsWhatJavasRankLeaves() throws Exception {
        assertThat(new HcclProvider().availability().isAvailable()).isTrue();
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0))) {
            beside(1, server.port());
        }
    }

    @Test
    void javasRankFindsWhatOneOfTorchNpuLeaves() throws Exception {
        assertThat(new HcclProvider().availability().isAvailable()).isTrue();
        beside(0, FreePort.next());
    }

    private static void beside(int peerRank, int port) throws Exception {
        Process peer = peer(peerRank, port);
        try (BufferedReader output = peer.inputReader()) {
            asRank(1 - peerRank, port);
            assertThat(output.lines().collect(Collectors.joining("\n"))).endsWith("ok");
            assertThat(peer.waitFor()).isZero();
        } finally {
            peer.destroyForcibly();
        }
    }
}
