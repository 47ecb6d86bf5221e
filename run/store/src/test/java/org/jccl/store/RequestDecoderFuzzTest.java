package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Any bytes are requests or are refused, alike in whatever pieces they arrive. */
class RequestDecoderFuzzTest {

    /** What was understood, written again, and why it went no further. */
    private record Understood(ByteBuffer requests, String refusal) {}

    private static final long MAX_BYTES = 1 << 20;

    @FuzzTest
    void understandsOrRefuses(byte[] bytes) {
        understandsOrRefuses(bytes, true);
        understandsOrRefuses(bytes, false);
    }

    /** Before its handshake a client may say little. */
    private static void understandsOrRefuses(byte[] bytes, boolean served) {
        Understood whole = decode(bytes, Math.max(1, bytes.length), served);
        assertThat(decode(bytes, 1, served)).isEqualTo(whole);
        assertThat(decode(bytes, 7, served)).isEqualTo(whole);
        int length = whole.requests.remaining();
        assertThat(ByteBuffer.wrap(bytes, 0, length)).isEqualTo(whole.requests);
    }

    private static Understood decode(byte[] bytes, int pieces, boolean served) {
        RequestDecoder decoder = new RequestDecoder(MAX_BYTES);
        WireBuffer requests = new WireBuffer();
        String refusal = null;
        try {
            for (int from = 0; from < bytes.length; from += pieces) {
                int to = Math.min(bytes.length, from + pieces);
                ByteBuffer piece = ByteBuffer.wrap(Arrays.copyOfRange(bytes, from, to));
                Request next;
                while ((next = decoder.next(piece, served)) != null) {
                    write(next, requests);
                }
            }
        } catch (BadRequestException e) {
            refusal = e.getMessage();
        }
        return new Understood(requests.finish(), refusal);
    }

    private static void write(Request request, WireBuffer to) {
        Opcode opcode = request.opcode();
        int fields = opcode.fields().size();
        to.putByte(opcode.number());
        if (opcode.isList()) {
            to.putLong(request.parts().size() / fields);
        }
        for (int i = 0; i < request.parts().size(); i++) {
            if (opcode.fields().get(i % fields).hasLength()) {
                to.putBytes(request.bytes(i));
            } else {
                to.putRaw(request.bytes(i));
            }
        }
    }
}
