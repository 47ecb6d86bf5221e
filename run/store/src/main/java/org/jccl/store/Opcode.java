package org.jccl.store;

import java.util.List;

/**
 * The requests of PyTorch's TCPStore, and two private ones for the shared secret. A request is its
 * number followed by its fields. {@code LIST} means a count, followed by that many repetitions of
 * the fields.
 */
enum Opcode {
    VALIDATE(0, Field.INT32),
    SET(1, Field.KEY, Field.VALUE),
    COMPARE_SET(2, Field.KEY, Field.VALUE, Field.VALUE),
    GET(3, Field.KEY),
    ADD(4, Field.KEY, Field.INT64),
    CHECK(5, Field.LIST, Field.KEY),
    WAIT(6, Field.LIST, Field.KEY),
    GETNUMKEYS(7),
    DELETE_KEY(8, Field.KEY),
    APPEND(9, Field.KEY, Field.VALUE),
    MULTI_GET(10, Field.LIST, Field.KEY),
    MULTI_SET(11, Field.LIST, Field.KEY, Field.VALUE),
    CANCEL_WAIT(12),
    PING(13, Field.INT32),
    QUEUE_PUSH(14, Field.KEY, Field.VALUE),
    QUEUE_POP(15, Field.KEY),
    QUEUE_LEN(16, Field.KEY),
    LIST_KEYS(17),
    BARRIER(18, Field.KEY, Field.INT64),
    AUTHENTICATE(160),
    PROVE(161, Field.NONCE, Field.PROOF);

    /** The fields of a request. */
    enum Field {
        /** A count; the fields after it are repeated. */
        LIST(Long.BYTES, false),
        KEY(StoreArguments.MAX_KEY_BYTES, true),
        VALUE(StoreArguments.MAX_VALUE_BYTES, true),
        INT32(Integer.BYTES, false),
        INT64(Long.BYTES, false),
        NONCE(SharedSecret.NONCE_BYTES, false),
        PROOF(SharedSecret.PROOF_BYTES, false);

        private final int bytes;
        private final boolean hasLength;
        private final String announced = "bytes in a " + this;

        Field(int bytes, boolean hasLength) {
            this.bytes = bytes;
            this.hasLength = hasLength;
        }

        /** Returns the size, or the maximum size of a field with a length. */
        int bytes() {
            return bytes;
        }

        /** Returns the unit of its length, for messages. */
        String announced() {
            return announced;
        }

        boolean hasLength() {
            return hasLength;
        }
    }

    /** Argument of VALIDATE. */
    static final int MAGIC = 0x3C85F7CE;

    /** Answer to WAIT and BARRIER. */
    static final byte STOP_WAITING = 0;

    /** Answer to CANCEL_WAIT. */
    static final byte WAIT_CANCELED = 1;

    /** Answers to CHECK. */
    static final byte READY = 0;

    static final byte NOT_READY = 1;

    private static final Opcode[] BY_NUMBER = new Opcode[256];

    static {
        for (Opcode opcode : values()) {
            BY_NUMBER[opcode.number & 0xFF] = opcode;
        }
    }

    private final byte number;
    private final boolean isList;
    private final List<Field> fields;

    Opcode(int number, Field... fields) {
        this.number = (byte) number;
        this.isList = fields.length > 0 && fields[0] == Field.LIST;
        this.fields = List.of(fields).subList(isList ? 1 : 0, fields.length);
    }

    byte number() {
        return number;
    }

    boolean isList() {
        return isList;
    }

    List<Field> fields() {
        return fields;
    }

    /** Returns whether a client may send it during the handshake; all of these are short. */
    boolean isOfHandshake() {
        return this == VALIDATE || this == AUTHENTICATE || this == PROVE;
    }

    /** Returns the opcode of this number, or null. */
    static Opcode of(byte number) {
        return BY_NUMBER[number & 0xFF];
    }
}
