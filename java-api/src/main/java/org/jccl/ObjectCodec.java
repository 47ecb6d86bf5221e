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
     * @throws Exception if it cannot be encoded. All ranks of the call then throw an exception
     */
    byte[] encode(T value) throws Exception;

    /**
     * Decodes the bytes that {@link #encode} returned on another rank.
     *
     * @param bytes from a peer; trust them no more than that peer
     * @return the object, not null
     * @throws Exception if it cannot be decoded. Only this rank then throws an exception
     */
    T decode(byte[] bytes) throws Exception;
}
