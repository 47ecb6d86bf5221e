package org.jccl.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Decodes the bytes of one connection into requests, independently of how they are split. Lengths
 * and counts are checked before the announced bytes arrive.
 */
final class RequestDecoder {

    /** The meaning of the bytes that are being read. */
    private enum Expect {
        OPCODE,
        COUNT,
        LENGTH,
        FIELD
    }

    /** Overhead of an array and its list entry, in bytes. */
    private static final int PART_OVERHEAD = 32;

    private final long mostBytes;
    private Expect expect = Expect.OPCODE;
    private int wanted = Byte.BYTES;

    /** A partially received field, or null. */
    private IncomingBytes incoming;

    private Opcode opcode;
    private List<byte[]> parts;
    private int elementsLeft;
    private int field;
    private long bytesLeft;

    /**
     * @param mostBytes the largest size of a request, because a list of long values could fill the
     *     memory
     */
    RequestDecoder(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    /**
     * Consumes bytes until a request is complete.
     *
     * @param served whether the handshake is complete; before that, only short messages are
     *     accepted
     * @return the request, or null when more bytes are needed
     */
    Request next(ByteBuffer from, boolean served) throws BadRequestException {
        from.order(ByteOrder.LITTLE_ENDIAN);
        while (incoming != null || from.hasRemaining() || wanted == 0) {
            if (incoming == null && from.remaining() >= wanted && expect != Expect.FIELD) {
                accept(wanted == Byte.BYTES ? from.get() : from.getLong(), served);
            } else {
                byte[] bytes = take(from);
                if (bytes == null) {
                    return null;
                }
                if (expect == Expect.FIELD) {
                    parts.add(bytes);
                    field++;
                    startField();
                } else {
                    accept(number(bytes), served);
                }
            }
            if (elementsLeft == 0) {
                Request request = new Request(opcode, parts);
                gather(Expect.OPCODE, Byte.BYTES);
                elementsLeft = -1;
                return request;
            }
        }
        return null;
    }

    /** Returns the next field's bytes, or null if they have not all arrived. */
    private byte[] take(ByteBuffer from) {
        if (incoming == null && from.remaining() >= wanted) {
            byte[] bytes = new byte[wanted];
            from.get(bytes);
            return bytes;
        }
        if (incoming == null) {
            incoming = new IncomingBytes(wanted);
        }
        if (!incoming.fill(from)) {
            return null;
        }
        byte[] bytes = incoming.bytes();
        incoming = null;
        return bytes;
    }

    private void accept(long number, boolean served) throws BadRequestException {
        switch (expect) {
            case OPCODE -> startRequest((byte) number, served);
            case COUNT -> startElements(bounded(number, StoreArguments.MAX_KEYS, "keys"));
            case LENGTH -> {
                Opcode.Field kind = opcode.fields().get(field);
                int length = bounded(number, kind.bytes(), kind.announced());
                bytesLeft -= length + PART_OVERHEAD;
                if (bytesLeft < 0) {
                    throw new BadRequestException(
                            opcode + " of more than " + mostBytes + " bytes; split it");
                }
                gather(Expect.FIELD, length);
            }
            default -> throw new AssertionError(expect);
        }
    }

    private void startRequest(byte number, boolean served) throws BadRequestException {
        opcode = Opcode.of(number);
        if (opcode == null) {
            throw new BadRequestException("unknown opcode " + (number & 0xFF));
        }
        if (!served && !opcode.isOfHandshake()) {
            throw new BadRequestException(opcode + " before the handshake was complete");
        }
        bytesLeft = mostBytes;
        parts = new ArrayList<>();
        if (opcode.isList()) {
            gather(Expect.COUNT, Opcode.Field.LIST.bytes());
            elementsLeft = -1;
        } else {
            startElements(1);
        }
    }

    private void startElements(int count) {
        elementsLeft = count;
        field = 0;
        if (count > 0) {
            startField();
        }
    }

    private void startField() {
        if (field == opcode.fields().size()) {
            field = 0;
            elementsLeft--;
        }
        if (elementsLeft > 0) {
            Opcode.Field kind = opcode.fields().get(field);
            if (kind.hasLength()) {
                gather(Expect.LENGTH, Long.BYTES);
            } else {
                gather(Expect.FIELD, kind.bytes());
            }
        }
    }

    private void gather(Expect what, int bytes) {
        expect = what;
        wanted = bytes;
    }

    private static long number(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        return bytes.length == Byte.BYTES ? in.get() : in.getLong();
    }

    private static int bounded(long value, int most, String what) throws BadRequestException {
        if (value < 0 || value > most) {
            throw new BadRequestException(
                    "%s %s announced, at most %d allowed"
                            .formatted(Long.toUnsignedString(value), what, most));
        }
        return (int) value;
    }
}
