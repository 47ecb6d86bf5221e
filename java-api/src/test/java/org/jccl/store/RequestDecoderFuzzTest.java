package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Any bytes are requests or are refused, alike in whatever pieces they arrive. */
class RequestDecoderFuzzTest {

    /** What was understood, written again, and why it went no further. */
    private record Understood(ByteBuffer requests, String refusal) {}

    @FuzzTest
    void understandsOrRefuses(byte[] bytes) {
        Understood whole = decode(bytes, Math.max(1, bytes.length));
        assertThat(decode(bytes, 1)).isEqualTo(whole);
        assertThat(decode(bytes, 7)).isEqualTo(whole);
        int length = whole.requests.remaining();
        assertThat(ByteBuffer.wrap(bytes, 0, length)).isEqualTo(whole.requests);
    }

    private static Understood decode(byte[] bytes, int pieces) {
        RequestDecoder decoder = new RequestDecoder();
        WireBuffer requests = new WireBuffer();
        String refusal = null;
        try {
            for (int from = 0; from < bytes.length; from += pieces) {
                int to = Math.min(bytes.length, from + pieces);
                ByteBuffer piece = ByteBuffer.wrap(Arrays.copyOfRange(bytes, from, to));
                for (Request next = decoder.next(piece); next != null; next = decoder.next(piece)) {
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
