package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ranks as processes: before 8.1, CANN allows no others. */
@Timeout(600)
@Tag("all")
final class ProcessesTest {

    @Test
    void everyRankPasses(@TempDir Path folder) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0))) {
            List<Future<String>> outputs = new ArrayList<>();
            for (int rank = 0; rank < RankJvm.RANKS; rank++) {
                String[] properties = {
                    "-D" + RankJvm.RANK + "=" + rank,
                    "-D" + RankJvm.STORE_PORT + "=" + server.address().getPort(),
                    "-D" + RankJvm.FOLDER + "=" + folder,
                    "-D" + RankJvm.FAMILIES + "=" + System.getProperty(RankJvm.FAMILIES, "")
                };
                outputs.add(
                        threads.submit(
                                () -> ChildJvm.outputOf(RankJvm.class, Map.of(), properties)));
            }
            for (Future<String> output : outputs) {
                String text = output.get();
                System.out.println(text.substring(text.indexOf(RankJvm.COUNT)));
                assertThat(text).contains(RankJvm.COUNT);
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
