package org.jccl.training;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.jccl.Tensor;

/** The bytes of a tensor, which may be on a device, in pieces that stay in the host's cache. */
final class TensorBytes {

    private static final int PIECE = 1 << 20;

    private TensorBytes() {}

    /** Consumes the bytes from the piece's position to its limit. */
    interface Sink {
        void take(ByteBuffer piece) throws IOException;
    }

    /** Passes the bytes to a sink, and returns their CRC-32C. */
    static long read(Tensor tensor, Sink sink) throws IOException {
        CRC32C checksum = new CRC32C();
        int size = tensor.dataType().size();
        ByteBuffer bytes =
                ByteBuffer.allocateDirect((int) Math.min(PIECE, tensor.byteSize()))
                        .order(ByteOrder.nativeOrder());
        long piece = PIECE / size;
        for (long offset = 0; offset < tensor.count(); offset += piece) {
            long count = Math.min(piece, tensor.count() - offset);
            bytes.clear().limit(Math.toIntExact(count * size));
            Tensor.of(bytes, tensor.dataType()).copyFrom(tensor.slice(offset, count));
            checksum.update(bytes.duplicate());
            sink.take(bytes);
        }
        return checksum.getValue();
    }
}
