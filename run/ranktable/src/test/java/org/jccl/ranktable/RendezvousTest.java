package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.BootstrapException;
import org.jccl.bootstrap.Rendezvous;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(90)
class RendezvousTest {

    private static final OptionalInt NONE = OptionalInt.empty();

    @Test
    void aRankTableThatIsStillBeingMadeIsWaitedForUpToTheTimeout(@TempDir Path folder)
            throws Exception {
        Path file = folder.resolve("hccl.json");
        Files.writeString(file, "{\"status\":\"initializing\"}");
        Map<String, String> environment =
                Map.of(
                        "RANK_ID", "0",
                        "MASTER_ADDR", "127.0.0.1",
                        "MASTER_PORT", "0",
                        "RANK_TABLE_FILE", file.toString());
        assertThatThrownBy(
                        () ->
                                Rendezvous.join(
                                        "env://",
                                        NONE,
                                        NONE,
                                        expires(Duration.ofMillis(10)),
                                        environment))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("\"initializing\"");
        CompletableFuture<Integer> joined =
                CompletableFuture.supplyAsync(
                        () -> {
                            try (Rendezvous world =
                                    Rendezvous.join(
                                            "env://",
                                            NONE,
                                            NONE,
                                            enough(Duration.ofSeconds(30)),
                                            environment)) {
                                return world.membership().worldSize();
                            }
                        });
        Thread.sleep(100);
        assertThat(joined).isNotDone();
        Files.writeString(
                file,
                """
                {"version": "1.0", "status": "completed", "server_list": [
                  {"server_id": "10.0.0.1", "device": [
                    {"device_id": "4", "device_ip": "10.1.0.1", "rank_id": "0"}]}]}
                """);
        assertThat(joined.get(40, TimeUnit.SECONDS)).isEqualTo(1);
    }
}
