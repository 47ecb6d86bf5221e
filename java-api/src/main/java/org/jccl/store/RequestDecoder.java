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

    private Expect expect = Expect.OPCODE;
    private IncomingBytes incoming = new IncomingBytes(Byte.BYTES);
    private Opcode opcode;
    private List<byte[]> parts;
    private int elementsLeft;
    private int field;

    /**
     * Takes bytes until a request is complete.
     *
     * @return the request, or null when more bytes are needed
     */
    Request next(ByteBuffer from) throws BadRequestException {
        while (incoming.fill(from)) {
            accept(incoming.bytes());
            if (elementsLeft == 0) {
                Request request = new Request(opcode, parts);
                gather(Expect.OPCODE, Byte.BYTES);
                elementsLeft = -1;
                return request;
            }
        }
        return null;
    }

    private void accept(byte[] bytes) throws BadRequestException {
        switch (expect) {
            case OPCODE -> startRequest(bytes[0]);
            case COUNT -> startElements(bounded(bytes, StoreArguments.MAX_KEYS, "keys"));
            case LENGTH -> {
                Opcode.Field kind = opcode.fields().get(field);
                gather(Expect.FIELD, bounded(bytes, kind.bytes(), "bytes in a " + kind));
            }
            case FIELD -> {
                parts.add(bytes);
                field++;
                startField();
            }
            default -> throw new AssertionError(expect);
        }
    }

    private void startRequest(byte number) throws BadRequestException {
        opcode = Opcode.of(number);
        if (opcode == null) {
            throw new BadRequestException("unknown opcode " + (number & 0xFF));
        }
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
