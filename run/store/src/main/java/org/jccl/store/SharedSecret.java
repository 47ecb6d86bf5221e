package org.jccl.store;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jccl.StoreException;

/**
 * Mutual authentication of both ends of a connection with a shared secret that is never sent.
 *
 * <p>After VALIDATE the client sends AUTHENTICATE (opcode 160, no fields) and the server answers
 * with 32 random bytes, its nonce. The client sends PROVE (opcode 161) with a nonce of its own and
 * the HMAC-SHA256, under the secret, of the words {@code jccl store client}, the server's nonce and
 * the client's. The server closes the connection if it computes another value. Otherwise it answers
 * with the HMAC of {@code jccl store server} and the two nonces, which the client checks. The
 * client proves first, so that an attacker gets no HMAC against which to test secrets.
 *
 * <p>This is authentication only. It does not encrypt, and it does not protect against an attacker
 * who can modify packets.
 */
final class SharedSecret {

    static final int NONCE_BYTES = 32;
    static final int PROOF_BYTES = 32;

    private static final String ALGORITHM = "HmacSHA256";

    private final byte[] secret;

    SharedSecret(byte[] secret) {
        if (secret == null || secret.length == 0) {
            throw StoreArguments.usage(
                    "The store's secret is empty; pass random bytes, or use the method without a secret");
        }
        this.secret = secret.clone();
    }

    static byte[] newNonce() {
        byte[] nonce = new byte[NONCE_BYTES];
        new SecureRandom().nextBytes(nonce);
        return nonce;
    }

    byte[] clientProof(byte[] serverNonce, byte[] clientNonce) {
        return proof("jccl store client", serverNonce, clientNonce);
    }

    byte[] serverProof(byte[] serverNonce, byte[] clientNonce) {
        return proof("jccl store server", serverNonce, clientNonce);
    }

    /** Compares in constant time. */
    static boolean matches(byte[] expected, byte[] given) {
        return MessageDigest.isEqual(expected, given);
    }

    private byte[] proof(String role, byte[] serverNonce, byte[] clientNonce) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(secret, ALGORITHM));
            mac.update(role.getBytes(StandardCharsets.US_ASCII));
            mac.update(serverNonce);
            return mac.doFinal(clientNonce);
        } catch (GeneralSecurityException e) {
            throw new StoreException(
                    "This Java runtime has no " + ALGORITHM + "; use one that has it", e);
        }
    }
}
