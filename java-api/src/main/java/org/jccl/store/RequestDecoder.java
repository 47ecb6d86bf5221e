package org.jccl.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Turns one connection's bytes, in whatever pieces they come, into requests. Lengths and counts are
 * checked when they arrive, before what they announce.
 */
final class RequestDecoder {

    /** What the bytes being gathered are. */
    private enum Expect {
        OPCODE,
        COUNT,
        LENGTH,
        FIELD
    }

    /** What an array and its place in a list take beside the bytes. */
    private static final int PART_OVERHEAD = 32;

    private final long mostBytes;
    private Expect expect = Expect.OPCODE;
    private IncomingBytes incoming = new IncomingBytes(Byte.BYTES);
    private Opcode opcode;
    private List<byte[]> parts;
    private int elementsLeft;
    private int field;
    private long bytesLeft;

    /**
     * @param mostBytes of one request; a list of long values could fill the memory otherwise
     */
    RequestDecoder(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    /**
     * Takes bytes until a request is complete.
     *
     * @param served whether the client is through its handshake; before, nothing long is taken
     * @return the request, or null when more bytes are needed
     */
    Request next(ByteBuffer from, boolean served) throws BadRequestException {
        while (incoming.fill(from)) {
            accept(incoming.bytes(), served);
            if (elementsLeft == 0) {
                Request request = new Request(opcode, parts);
                gather(Expect.OPCODE, Byte.BYTES);
                elementsLeft = -1;
                return request;
            }
        }
        return null;
    }

    private void accept(byte[] bytes, boolean served) throws BadRequestException {
        switch (expect) {
            case OPCODE -> startRequest(bytes[0], served);
            case COUNT -> startElements(bounded(bytes, StoreArguments.MAX_KEYS, "keys"));
            case LENGTH -> {
                Opcode.Field kind = opcode.fields().get(field);
                int length = bounded(bytes, kind.bytes(), "bytes in a " + kind);
                bytesLeft -= length + PART_OVERHEAD;
                if (bytesLeft < 0) {
                    throw new BadRequestException(
                            opcode + " of more than " + mostBytes + " bytes, make several");
                }
                gather(Expect.FIELD, length);
            }
            case FIELD -> {
                parts.add(bytes);
                field++;
                startField();
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
        incoming = new IncomingBytes(bytes);
    }

    private static int bounded(byte[] number, int most, String what) throws BadRequestException {
        long value = ByteBuffer.wrap(number).order(ByteOrder.LITTLE_ENDIAN).getLong();
        if (value < 0 || value > most) {
            throw new BadRequestException(
                    "%s %s announced, at most %d allowed"
                            .formatted(Long.toUnsignedString(value), what, most));
        }
        return (int) value;
    }
}
