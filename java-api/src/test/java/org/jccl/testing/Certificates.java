package org.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jccl.TlsCredentials;

/** Certificates that the JDK's keytool makes for a test. */
public final class Certificates {

    private static final String PASSWORD = "changeit";

    private final Path store;

    /**
     * Starts without certificates.
     *
     * @param folder an empty folder
     */
    public Certificates(Path folder) {
        store = folder.resolve("keys.p12");
    }

    /** Makes a certificate that signs itself, and may sign others. */
    public Certificates authority(String name) throws Exception {
        keytool(name, "-keyalg", "EC", "-ext", "bc:c=ca:true");
        return this;
    }

    /** Makes a certificate that is valid now. */
    public Certificates signed(String name, String authority) throws Exception {
        keytool(name, "-keyalg", "EC", "-signer", authority);
        return this;
    }

    /** Makes a certificate of a server on this host, for clients that compare its name. */
    public Certificates server(String name, String authority) throws Exception {
        keytool(name, "-keyalg", "EC", "-signer", authority, "-ext", "san=ip:127.0.0.1");
        return this;
    }

    /** Makes a certificate with an RSA key. */
    public Certificates rsa(String name, String authority) throws Exception {
        keytool(name, "-keyalg", "RSA", "-signer", authority);
        return this;
    }

    /** Makes a certificate whose time is over. */
    public Certificates expired(String name, String authority) throws Exception {
        keytool(name, "-keyalg", "EC", "-signer", authority, "-startdate", "-9d", "-validity", "1");
        return this;
    }

    /** Makes a certificate that signs itself and whose time is over. */
    public Certificates expiredAlone(String name) throws Exception {
        keytool(name, "-keyalg", "EC", "-startdate", "-9d", "-validity", "1");
        return this;
    }

    private void keytool(String name, String... options) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
        for (String option : ChildJvm.shortLived()) {
            command.add("-J" + option);
        }
        command.addAll(List.of("-genkeypair", "-alias", name, "-dname", "CN=" + name, "-keystore"));
        command.addAll(List.of(store.toString(), "-storepass", PASSWORD));
        command.addAll(Arrays.asList(options));
        Path log = Files.createTempFile(store.getParent(), "keytool", ".log");
        Process process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(log.toFile())
                        .start();
        assertThat(process.waitFor(240, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(Files.readString(log)).isZero();
    }

    /** Returns the credentials of a certificate, for connections to those of some authorities. */
    public TlsCredentials credentials(String name, String... authorities) throws Exception {
        return TlsCredentials.ofPem(certificate(name), key(name), authorities(authorities));
    }

    /** Returns the text of a certificate. */
    public String certificate(String name) throws Exception {
        return pem("CERTIFICATE", keys().getCertificate(name).getEncoded());
    }

    /** Returns the text of a private key. */
    public String key(String name) throws Exception {
        return pem("PRIVATE KEY", keys().getKey(name, PASSWORD.toCharArray()).getEncoded());
    }

    /** Returns the text of several certificates. */
    public String authorities(String... names) throws Exception {
        List<String> texts = new ArrayList<>();
        for (String name : names) {
            texts.add(certificate(name));
        }
        return texts.stream().collect(Collectors.joining());
    }

    private KeyStore keys() throws IOException, GeneralSecurityException {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        return keys;
    }

    private static String pem(String what, byte[] encoded) {
        Base64.Encoder encoder =
                Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII));
        return "-----BEGIN %s-----%n%s%n-----END %s-----%n"
                .formatted(what, encoder.encodeToString(encoded), what);
    }
}
