package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/**
 * The client: whatever a server answers, a call returns exactly what the answer says, or throws
 * {@link StoreException}. The first byte of the input chooses the call.
 */
class StoreClientFuzzTest {

    private static final Duration PATIENCE = enough(Duration.ofSeconds(60));

    /** A call, which writes its result as the server should have sent it. */
    private interface Call {
        void run(TcpStore store, ByteBuffer answered, WireBuffer answer);
    }

    private static final List<Call> CALLS =
            List.of(
                    (store, answered, answer) -> answer.putByte((byte) 0).putBytes(store.get("k")),
                    (store, answered, answer) -> answer.putLong(store.add("k", 1)),
                    (store, answered, answer) ->
                            answer.putByte(
                                    store.check(List.of("k")) ? Opcode.READY : Opcode.NOT_READY),
                    (store, answered, answer) -> answer.putLong(store.deleteKey("k") ? 1 : 0),
                    (store, answered, answer) -> answer.putLong(notNegative(store.keyCount())),
                    (store, answered, answer) ->
                            answer.putBytes(store.compareSet("k", new byte[0], new byte[1])),
                    (store, answered, answer) -> {
                        answer.putByte((byte) 0);
                        store.multiGet(List.of("k", "l")).forEach(answer::putBytes);
                    },
                    (store, answered, answer) ->
                            answer.putLong(notNegative(store.queueLength("k"))),
                    (store, answered, answer) -> {
                        Optional<byte[]> value = store.queuePoll("k");
                        long length = notNegative(answered.getLong());
                        assertThat(length > 0).isEqualTo(value.isPresent());
                        answer.putLong(length);
                        value.ifPresent(answer::putBytes);
                    },
                    (store, answered, answer) -> {
                        // Those of the server itself are left out.
                        int keys = store.listKeys().size();
                        assertThat(keys).isLessThanOrEqualTo((int) answered.getLong());
                    },
                    (store, answered, answer) -> {
                        store.await(List.of("k"));
                        answer.putByte((byte) 0);
                    },
                    (store, answered, answer) -> {
                        store.barrier("k", 2, PATIENCE);
                        answer.putByte((byte) 0);
                    });

    /** Of the calls: get and multiGet, which make two requests. */
    private static final Set<Integer> WAIT_FIRST = Set.of(0, 6);

    private static PlayedServer server;

    @BeforeAll
    static void startServer() throws IOException {
        server = new PlayedServer();
    }

    @AfterAll
    static void closeServer() {
        server.close();
    }

    @FuzzTest
    void returnsWhatWasAnswered(byte[] bytes) {
        if (bytes.length == 0) {
            return;
        }
        byte[] answer = Arrays.copyOfRange(bytes, 1, bytes.length);
        int call = (bytes[0] & 0xFF) % CALLS.size();
        // Before it reads a value a client waits until it is there.
        int first = WAIT_FIRST.contains(call) ? Math.min(1, answer.length) : answer.length;
        byte[] rest = Arrays.copyOfRange(answer, first, answer.length);
        if (first < answer.length) {
            server.play(afterHandshake(), Arrays.copyOf(answer, first), rest);
        } else {
            server.play(afterHandshake(), answer);
        }
        try (TcpStore store = TcpStore.connect("127.0.0.1", server.port(), PATIENCE)) {
            WireBuffer understood = new WireBuffer();
            ByteBuffer answered = ByteBuffer.wrap(answer).order(ByteOrder.LITTLE_ENDIAN);
            CALLS.get(call).run(store, answered, understood);
            ByteBuffer begins = understood.finish();
            assertThat(answer.length).isGreaterThanOrEqualTo(begins.remaining());
            assertThat(begins).isEqualTo(ByteBuffer.wrap(answer, 0, begins.remaining()));
        } catch (StoreException refused) {
            assertThat(refused).isNotInstanceOf(StoreTimeoutException.class);
        }
    }

    private static byte[] afterHandshake() {
        return ByteBuffer.allocate(Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt((int) ProcessHandle.current().pid())
                .array();
    }

    private static long notNegative(long count) {
        assertThat(count).isNotNegative();
        return count;
    }
}
