package org.jccl;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The TLS credentials of a process: its certificate, the private key of that certificate, and the
 * authorities of the job. Two processes of a job accept each other if each has a valid certificate
 * from one of the other's authorities. Host names in certificates are not compared, so the
 * authorities must sign for this job only. A self-signed certificate that all processes share is
 * its own authority.
 *
 * <p>All texts are in the PEM format. The key must be an unencrypted PKCS#8 key, {@code BEGIN
 * PRIVATE KEY}. The connections use TLS 1.3.
 *
 * <p>Immutable and thread-safe. {@link #toString} does not contain the key.
 */
public final class TlsCredentials {

    /** The environment variable with the path of the certificate. */
    public static final String CERTIFICATE_VARIABLE = "JCCL_TLS_CERT";

    /** The environment variable with the path of the private key. */
    public static final String KEY_VARIABLE = "JCCL_TLS_KEY";

    /** The environment variable with the path of the authorities' certificates. */
    public static final String AUTHORITIES_VARIABLE = "JCCL_TLS_CA";

    private static final Pattern KEY =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]*)-----END PRIVATE KEY-----");

    private final List<X509Certificate> certificates;
    private final PrivateKey key;
    private final List<X509Certificate> authorities;

    private TlsCredentials(
            List<X509Certificate> certificates, PrivateKey key, List<X509Certificate> authorities) {
        this.certificates = certificates;
        this.key = key;
        this.authorities = authorities;
    }

    /**
     * Reads credentials from files.
     *
     * @param certificate the certificate, followed by those of intermediate authorities, if any
     * @param key the private key of the certificate
     * @param authorities the certificates of the job's authorities
     * @return the credentials; later changes of the files have no effect on them
     * @throws UsageException if an argument is null, a file cannot be read or has the wrong
     *     content, or the key does not match the certificate
     */
    public static TlsCredentials ofFiles(Path certificate, Path key, Path authorities) {
        return of(read(certificate), read(key), read(authorities));
    }

    /**
     * Creates credentials from texts.
     *
     * @param certificate the certificate, followed by those of intermediate authorities, if any
     * @param key the private key of the certificate
     * @param authorities the certificates of the job's authorities
     * @return the credentials
     * @throws UsageException if an argument is null or has the wrong content, or the key does not
     *     match the certificate
     */
    public static TlsCredentials ofPem(String certificate, String key, String authorities) {
        if (certificate == null || key == null || authorities == null) {
            throw usage("the certificate, the key or the authorities is null", null);
        }
        return of(
                new Pem("the text of the certificate", certificate),
                new Pem("the text of the key", key),
                new Pem("the text of the authorities", authorities));
    }

    /**
     * Reads credentials from the files that the environment variables {@code JCCL_TLS_CERT}, {@code
     * JCCL_TLS_KEY} and {@code JCCL_TLS_CA} name. {@code jccl run --tls-cert} sets them.
     *
     * @param environment the variables of the process, usually {@link System#getenv()}
     * @return the credentials; empty if none of the variables is set
     * @throws UsageException if the environment is null, only some of the variables are set, or
     *     {@link #ofFiles} throws it
     */
    public static Optional<TlsCredentials> in(Map<String, String> environment) {
        if (environment == null) {
            throw usage("the environment, usually System.getenv(), is null", null);
        }
        List<String> names = List.of(CERTIFICATE_VARIABLE, KEY_VARIABLE, AUTHORITIES_VARIABLE);
        List<String> missing =
                names.stream()
                        .filter(name -> environment.getOrDefault(name, "").isBlank())
                        .toList();
        if (missing.size() == names.size()) {
            return Optional.empty();
        }
        if (!missing.isEmpty()) {
            throw usage("all of " + names + " must be set, or none; not set: " + missing, null);
        }
        List<Path> files = names.stream().map(name -> path(name, environment.get(name))).toList();
        return Optional.of(ofFiles(files.get(0), files.get(1), files.get(2)));
    }

    private static Path path(String variable, String value) {
        try {
            return Path.of(value);
        } catch (InvalidPathException e) {
            throw usage(variable + " is '" + value + "', which cannot be a path", e);
        }
    }

    /** A text and its source. Not a record, because toString must not contain the text. */
    private static final class Pem {
        final String source;
        final String text;

        Pem(String source, String text) {
            this.source = source;
            this.text = text;
        }
    }

    private static TlsCredentials of(Pem certificate, Pem key, Pem authorities) {
        List<X509Certificate> own = certificates(certificate);
        PrivateKey privateKey = key(key, own.get(0).getPublicKey());
        return new TlsCredentials(own, privateKey, certificates(authorities));
    }

    private static Pem read(Path file) {
        if (file == null) {
            throw usage("the path of the certificate, the key or the authorities is null", null);
        }
        try {
            // Bytes that are not text are rejected later, with the name of the file.
            String text = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
            return new Pem("the file " + file, text);
        } catch (IOException e) {
            throw usage("the file " + file + " cannot be read: " + e, e);
        }
    }

    private static List<X509Certificate> certificates(Pem pem) {
        try {
            byte[] bytes = pem.text.getBytes(StandardCharsets.ISO_8859_1);
            List<X509Certificate> found =
                    CertificateFactory.getInstance("X.509")
                            .generateCertificates(new ByteArrayInputStream(bytes))
                            .stream()
                            .map(X509Certificate.class::cast)
                            .toList();
            if (found.isEmpty()) {
                throw usage(pem.source + " has no certificate in the PEM format", null);
            }
            return found;
        } catch (CertificateException e) {
            throw usage(pem.source + " has no certificate in the PEM format: " + e.getMessage(), e);
        }
    }

    /** No message contains a part of the key. */
    private static PrivateKey key(Pem pem, PublicKey of) {
        Matcher block = KEY.matcher(pem.text);
        if (!block.find()) {
            throw usage(
                    pem.source
                            + " has no unencrypted PKCS#8 key (BEGIN PRIVATE KEY); convert other keys with"
                            + " 'openssl pkcs8 -topk8 -nocrypt'",
                    null);
        }
        try {
            byte[] encoded = Base64.getMimeDecoder().decode(block.group(1));
            PrivateKey key =
                    KeyFactory.getInstance(of.getAlgorithm())
                            .generatePrivate(new PKCS8EncodedKeySpec(encoded));
            if (belongTogether(key, of)) {
                return key;
            }
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            // The cause may quote the key.
            throw usage(
                    pem.source
                            + " has no private key for the algorithm of the certificate, "
                            + of.getAlgorithm()
                            + ", or this Java runtime lacks the algorithm (module jdk.crypto.ec)",
                    null);
        }
        throw usage("the key in " + pem.source + " does not belong to the certificate", null);
    }

    private static boolean belongTogether(PrivateKey key, PublicKey of)
            throws GeneralSecurityException {
        String algorithm =
                switch (of.getAlgorithm()) {
                    case "RSA" -> "SHA256withRSA";
                    case "EC" -> "SHA256withECDSA";
                    default -> of.getAlgorithm();
                };
        Signature signature = Signature.getInstance(algorithm);
        signature.initSign(key);
        signature.update((byte) 1);
        byte[] signed = signature.sign();
        signature.initVerify(of);
        signature.update((byte) 1);
        return signature.verify(signed);
    }

    private static UsageException usage(String reason, Throwable cause) {
        return new UsageException(FailureContext.NONE, "TLS: " + reason, cause);
    }

    /**
     * Returns the certificate of this process, followed by those of intermediate authorities.
     *
     * @return at least one certificate
     */
    public List<X509Certificate> certificates() {
        return certificates;
    }

    /**
     * Returns the private key of this process.
     *
     * @return the key of the first certificate
     */
    public PrivateKey key() {
        return key;
    }

    /**
     * Returns the authorities whose certificates this process accepts.
     *
     * @return at least one certificate
     */
    public List<X509Certificate> authorities() {
        return authorities;
    }

    @Override
    public String toString() {
        return "TlsCredentials(" + certificates.get(0).getSubjectX500Principal() + ")";
    }
}
