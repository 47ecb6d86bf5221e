package org.jccl;

/**
 * Turns objects of a program into bytes and back, for {@link ObjectCollectives}. The program
 * chooses the format, for instance JSON. Java's serialization is unsuitable, because its data can
 * run code.
 *
 * @param <T> the type of the objects
 */
public interface ObjectCodec<T> {

    /**
     * Encodes an object.
     *
     * @param value not null
     * @return its bytes, not null
     * @throws Exception if it cannot be encoded. All ranks of the call throw an exception then
     */
    byte[] encode(T value) throws Exception;

    /**
     * Decodes what {@link #encode} has returned on another rank.
     *
     * @param bytes from a peer, which are not to be trusted more than that peer
     * @return the object, not null
     * @throws Exception if it cannot be decoded. Only this rank throws an exception then
     */
    T decode(byte[] bytes) throws Exception;
}
