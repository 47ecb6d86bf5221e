package org.jccl.store;

import java.nio.ByteBuffer;

/**
 * What a server knows of a key of a {@link ReplicatedStore}: the value of the key on that server.
 *
 * @param promised attempts with a smaller ballot are refused
 * @param accepted the ballot of the attempt that wrote the content
 * @param content what was accepted last
 */
record Register(Ballot promised, Ballot accepted, Content content) {

    private static final Register EMPTY = new Register(Ballot.NONE, Ballot.NONE, Content.MISSING);

    private static final int BALLOTS_BYTES = 4 * Long.BYTES;

    /** Reads the result of {@link #bytes}, or no bytes, for a key that the server lacks. */
    static Register of(byte[] bytes) {
        if (bytes.length == 0) {
            return EMPTY;
        }
        ByteBuffer from = ByteBuffer.wrap(bytes);
        Ballot promised = new Ballot(from.getLong(), from.getLong());
        Ballot accepted = new Ballot(from.getLong(), from.getLong());
        return new Register(promised, accepted, Content.read(from));
    }

    byte[] bytes() {
        ByteBuffer to = ByteBuffer.allocate(BALLOTS_BYTES + content.bytes());
        to.putLong(promised.round()).putLong(promised.proposer());
        to.putLong(accepted.round()).putLong(accepted.proposer());
        content.write(to);
        return to.array();
    }

    Register promising(Ballot ballot) {
        return new Register(ballot, accepted, content);
    }
}
