package org.jccl.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.jccl.store.ServerConnection.Stage;

/** Executes the requests on the server. Used only by the server's thread. */
final class RequestHandler {

    private final KeySpace keys = new KeySpace();
    private final Waiters waiters = new Waiters(keys);
    private final SharedSecret secret;
    private final BiConsumer<ServerConnection, IOException> onFailure;

    /**
     * @param secret the secret that clients must prove, or null
     * @param onFailure closes a connection to which the end of its wait could not be sent
     */
    RequestHandler(SharedSecret secret, BiConsumer<ServerConnection, IOException> onFailure) {
        this.secret = secret;
        this.onFailure = onFailure;
    }

    /** Stores a value before any client is served. */
    void put(String key, byte[] value) {
        keys.set(key, value.clone());
    }

    /** Executes one request. If it throws, the connection must be closed. */
    void handle(ServerConnection client, Request request) throws IOException {
        switch (client.stage) {
            case CONNECTED -> validate(client, request);
            case VALIDATED -> authenticate(client, request);
            case SERVED -> serve(client, request);
            default -> throw new AssertionError(client.stage);
        }
    }

    /** Removes a closed connection from the waiters. */
    void disconnected(ServerConnection client) {
        waiters.cancel(client);
    }

    private void validate(ServerConnection client, Request request) throws IOException {
        if (request.opcode() != Opcode.VALIDATE) {
            throw new BadRequestException(request.opcode() + " before VALIDATE");
        }
        if (request.int32(0) != Opcode.MAGIC) {
            throw new BadRequestException(
                    "VALIDATE with 0x%08X instead of the magic number".formatted(request.int32(0)));
        }
        client.stage = secret == null ? Stage.SERVED : Stage.VALIDATED;
    }

    private void authenticate(ServerConnection client, Request request) throws IOException {
        if (request.opcode() == Opcode.AUTHENTICATE && client.nonce == null) {
            client.nonce = SharedSecret.newNonce();
            client.send(new WireBuffer().putRaw(client.nonce).finish());
        } else if (request.opcode() == Opcode.PROVE && client.nonce != null) {
            byte[] expected = secret.clientProof(client.nonce, request.bytes(0));
            if (!SharedSecret.matches(expected, request.bytes(1))) {
                throw new BadRequestException("the client does not know the secret");
            }
            byte[] proof = secret.serverProof(client.nonce, request.bytes(0));
            client.stage = Stage.SERVED;
            client.send(new WireBuffer().putRaw(proof).finish());
        } else {
            throw new BadRequestException(
                    request.opcode() + " from a client that did not prove the secret");
        }
    }

    private void serve(ServerConnection client, Request request) throws IOException {
        switch (request.opcode()) {
            case SET -> {
                String key = request.key(0);
                keys.set(key, request.bytes(1));
                release(waiters.keyAppeared(key));
            }
            case COMPARE_SET -> {
                String key = request.key(0);
                byte[] now = keys.compareSet(key, request.bytes(1), request.bytes(2));
                client.send(new WireBuffer().putBytes(now).finish());
                if (keys.contains(key)) {
                    release(waiters.keyAppeared(key));
                }
            }
            case GET -> client.send(values(List.of(request.key(0))));
            case ADD -> {
                String key = request.key(0);
                client.send(number(add(key, request.int64(1))));
                release(waiters.keyAppeared(key));
            }
            case CHECK ->
                    client.send(
                            flag(
                                    keys.containsAll(request.keys())
                                            ? Opcode.READY
                                            : Opcode.NOT_READY));
            case WAIT -> {
                requireNoWait(client);
                if (waiters.existOrWait(client, request.keys())) {
                    client.send(flag(Opcode.STOP_WAITING));
                }
            }
            case GETNUMKEYS -> client.send(number(keys.size()));
            case DELETE_KEY -> client.send(number(keys.delete(request.key(0)) ? 1 : 0));
            case APPEND -> {
                if (!keys.append(request.key(0), request.bytes(1))) {
                    throw new BadRequestException("APPEND beyond the largest value");
                }
                release(waiters.keyAppeared(request.key(0)));
            }
            case MULTI_GET -> client.send(values(request.keys()));
            case MULTI_SET -> multiSet(request);
            case CANCEL_WAIT -> {
                waiters.cancel(client);
                client.send(flag(Opcode.WAIT_CANCELED));
            }
            case PING -> client.send(new WireBuffer().putInt(request.int32(0)).finish());
            case QUEUE_PUSH -> {
                keys.push(request.key(0), request.bytes(1));
                release(waiters.keyAppeared(request.key(0)));
            }
            case QUEUE_POP -> {
                WireBuffer answer = new WireBuffer().putLong(keys.queueLength(request.key(0)));
                byte[] oldest = keys.poll(request.key(0));
                client.send((oldest == null ? answer : answer.putBytes(oldest)).finish());
            }
            case QUEUE_LEN -> client.send(number(keys.queueLength(request.key(0))));
            case LIST_KEYS -> client.send(new WireBuffer().putList(allKeys()).finish());
            case BARRIER -> barrier(client, request.key(0), request.int64(1));
            default -> throw new BadRequestException(request.opcode() + " sent again");
        }
    }

    private void multiSet(Request request) {
        for (int i = 0; i < request.parts().size(); i += 2) {
            keys.set(request.key(i), request.bytes(i + 1));
        }
        for (int i = 0; i < request.parts().size(); i += 2) {
            release(waiters.keyAppeared(request.key(i)));
        }
    }

    private void barrier(ServerConnection client, String counter, long worldSize)
            throws IOException {
        requireNoWait(client);
        long arrived = add(counter, 1);
        waiters.waitForCount(client, counter, worldSize);
        release(waiters.counted(counter, arrived));
        release(waiters.keyAppeared(counter));
    }

    private long add(String key, long delta) throws BadRequestException {
        try {
            return keys.add(key, delta);
        } catch (NumberFormatException e) {
            throw new BadRequestException("ADD to a value that is not a number");
        }
    }

    /**
     * Returns the stored values without copying, because together they may be larger than the
     * memory.
     */
    private List<ByteBuffer> values(List<String> wanted) {
        List<ByteBuffer> answer = new ArrayList<>(2 * wanted.size());
        for (String key : wanted) {
            byte[] value = value(key);
            answer.add(number(value.length));
            answer.add(ByteBuffer.wrap(value));
        }
        return answer;
    }

    private byte[] value(String key) {
        byte[] value = keys.get(key);
        return value == null ? new byte[0] : value;
    }

    private List<byte[]> allKeys() {
        List<byte[]> all = new ArrayList<>(keys.size());
        keys.keys().forEach(key -> all.add(key.getBytes(StandardCharsets.ISO_8859_1)));
        return all;
    }

    private void release(List<ServerConnection> released) {
        for (ServerConnection client : released) {
            try {
                client.send(flag(Opcode.STOP_WAITING));
            } catch (IOException e) {
                onFailure.accept(client, e);
            }
        }
    }

    private static void requireNoWait(ServerConnection client) throws BadRequestException {
        if (client.wait != null) {
            throw new BadRequestException("a second WAIT while one is pending");
        }
    }

    private static ByteBuffer flag(byte value) {
        return new WireBuffer().putByte(value).finish();
    }

    private static ByteBuffer number(long value) {
        return new WireBuffer().putLong(value).finish();
    }
}
