package org.jccl.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** The bytes of a non-blocking connection, used by one thread at a time. */
interface StoreChannel {

    /** The result of {@link #handshake} if nothing is left to do. */
    int COMPLETE = 0;

    /** Creates the channel of a connection, encrypted if there are credentials. */
    static StoreChannel of(SocketChannel channel, TlsContext tls, boolean client) {
        return tls == null ? new Plain(channel) : new TlsChannel(channel, tls.engine(client));
    }

    /**
     * Advances the handshake, if the connection begins with one. Nothing may be read or written
     * before it is complete.
     *
     * @return the operation of a selection key to wait for, or {@link #COMPLETE}
     */
    int handshake() throws IOException;

    /** Returns the number of bytes that {@link #read} needs space for. */
    int readBytes();

    /** Reads what has arrived. Returns the number of bytes, or -1 at the end of the connection. */
    int read(ByteBuffer into) throws IOException;

    /** Writes as much as the socket accepts of the first buffers. Returns the number of bytes. */
    long write(ByteBuffer[] from, int count) throws IOException;

    /** Returns whether the socket has accepted all bytes that {@link #write} took. */
    boolean flush() throws IOException;

    /**
     * A connection without encryption.
     *
     * @param channel the socket
     */
    record Plain(SocketChannel channel) implements StoreChannel {

        @Override
        public int handshake() {
            return COMPLETE;
        }

        @Override
        public int readBytes() {
            return 1;
        }

        @Override
        public int read(ByteBuffer into) throws IOException {
            return channel.read(into);
        }

        @Override
        public long write(ByteBuffer[] from, int count) throws IOException {
            return count == 1 ? channel.write(from[0]) : channel.write(from, 0, count);
        }

        @Override
        public boolean flush() {
            return true;
        }
    }
}
