package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jccl.testing.Certificates;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reading credentials, and what is wrong with them. */
final class TlsCredentialsTest {

    @TempDir private static Path folder;
    private static String certificate;
    private static String key;
    private static String otherKey;
    private static String rsaKey;

    @BeforeAll
    static void makeCertificates() throws Exception {
        Certificates made = new Certificates(folder).authority("a").authority("b").rsa("rsa", "a");
        certificate = made.certificate("a");
        key = made.key("a");
        otherKey = made.key("b");
        rsaKey = made.key("rsa");
    }

    @Test
    void readsFilesOfTheEnvironment() throws Exception {
        Path own = Files.writeString(folder.resolve("own.pem"), "a comment\n" + certificate);
        Path secret = Files.writeString(folder.resolve("own.key"), key);
        Map<String, String> variables =
                Map.of(
                        "JCCL_TLS_CERT", own.toString(),
                        "JCCL_TLS_KEY", secret.toString(),
                        "JCCL_TLS_CA", own.toString());
        TlsCredentials read = TlsCredentials.in(variables).orElseThrow();
        assertThat(read.certificates()).hasSize(1).isEqualTo(read.authorities());
        assertThat(TlsCredentials.in(Map.of())).isEmpty();
    }

    @Test
    void namesTheVariablesThatAreMissing() {
        assertThatThrownBy(() -> TlsCredentials.in(Map.of("JCCL_TLS_KEY", "x")))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("not set: [JCCL_TLS_CERT, JCCL_TLS_CA]");
    }

    @Test
    void namesTheFileThatIsMissing() {
        Path nowhere = folder.resolve("nowhere");
        assertThatThrownBy(() -> TlsCredentials.ofFiles(nowhere, nowhere, nowhere))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("nowhere cannot be read");
    }

    @Test
    void rejectsTheKeyOfAnotherCertificate() {
        assertThatThrownBy(() -> TlsCredentials.ofPem(certificate, otherKey, certificate))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("does not belong to the certificate");
        assertThatThrownBy(() -> TlsCredentials.ofPem(certificate, rsaKey, certificate))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("no private key for the algorithm");
    }

    @Test
    void saysHowToConvertAnotherFormat() {
        String old = key.replace("PRIVATE KEY", "EC PRIVATE KEY");
        assertThatThrownBy(() -> TlsCredentials.ofPem(certificate, old, certificate))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("openssl pkcs8 -topk8");
    }

    @Test
    void rejectsTextThatIsNoCertificate() {
        assertThatThrownBy(() -> TlsCredentials.ofPem("nonsense", key, certificate))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("no certificate in the PEM format");
        assertThatThrownBy(() -> TlsCredentials.ofPem(certificate, key, ""))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("no certificate in the PEM format");
        assertThatThrownBy(() -> TlsCredentials.ofPem(certificate, null, certificate))
                .isInstanceOf(UsageException.class);
    }

    /** Whatever is wrong with a key, no message and no text contains a part of it. */
    @Test
    void theKeyIsInNoText() {
        String inside = key.lines().skip(1).findFirst().orElseThrow();
        TlsCredentials read = TlsCredentials.ofPem(certificate, key, certificate);
        assertThat(read.toString()).contains("CN=a").doesNotContain(inside);
        String broken = key.replace(inside, inside.substring(1));
        assertThatThrownBy(() -> TlsCredentials.ofPem(certificate, broken, certificate))
                .isInstanceOf(UsageException.class)
                .hasNoCause()
                .message()
                .doesNotContain(inside.substring(1));
    }
}
