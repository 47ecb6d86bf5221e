package org.jccl.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.NEVER;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import io.etcd.jetcd.Auth;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.testing.Certificates;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A real etcd that asks who is there. */
@Timeout(120)
@Tag("all")
final class EtcdAccessTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));

    @TempDir private Path folder;

    private static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }

    @Test
    void aUserNeedsThePassword() throws Exception {
        try (EtcdCluster etcd = EtcdCluster.start(1, folder)) {
            String url = etcd.url("p");
            try (Client client = Client.builder().endpoints(etcd.endpoint(0)).build()) {
                Auth auth = client.getAuthClient();
                auth.userAdd(bytes("root"), bytes("secret")).get();
                auth.userGrantRole(bytes("root"), bytes("root")).get();
                auth.authEnable().get();
            }
            try (Store store = EtcdStore.connect(url + "?user=root:secret", LONG)) {
                assertThat(store.add("n", 1)).isEqualTo(1);
                assertThat(store.add("n", 1)).isEqualTo(2);
                assertThat(store.toString()).doesNotContain("secret");
            }
            for (String wrong : new String[] {"", "?user=root:guess"}) {
                assertThatThrownBy(
                                () ->
                                        EtcdStore.connect(
                                                url + wrong, expires(Duration.ofSeconds(1))))
                        .as(wrong)
                        .isInstanceOf(StoreException.class)
                        .hasMessageContaining(url)
                        .hasMessageContaining("user=NAME:PASSWORD");
            }
        }
    }

    private Path file(String name, String text) throws Exception {
        return Files.writeString(folder.resolve(name), text);
    }

    @Test
    void membersAndClientsShowTheirCertificates() throws Exception {
        Certificates certificates =
                new Certificates(folder)
                        .authority("authority")
                        .server("member", "authority")
                        .server("client", "authority");
        Path authority = file("ca.pem", certificates.authorities("authority"));
        Path certificate = file("client.pem", certificates.certificate("client"));
        Path key = file("client.key", certificates.key("client"));
        try (EtcdCluster etcd =
                EtcdCluster.start(
                        1,
                        folder,
                        "--client-cert-auth",
                        "--trusted-ca-file",
                        authority.toString(),
                        "--cert-file",
                        file("member.pem", certificates.certificate("member")).toString(),
                        "--key-file",
                        file("member.key", certificates.key("member")).toString())) {
            String url = etcd.url("p") + "?cacert=" + authority;
            String own = "&cert=" + certificate + "&key=" + key;
            try (Store store = EtcdStore.connect(url + own, LONG)) {
                assertThat(store.isEncrypted()).isTrue();
                assertThat(store.add("n", 1)).isEqualTo(1);
            }
            for (String wrong : new String[] {etcd.url("p"), url}) {
                assertThatThrownBy(() -> EtcdStore.connect(wrong, expires(Duration.ofSeconds(1))))
                        .as(wrong)
                        .isInstanceOf(StoreException.class)
                        .hasMessageContaining(etcd.url("p"));
            }
        }
    }

    /** Within a limit that a test would not survive if each error were taken for a lost member. */
    @Test
    void wrongCertificatesAndPasswordsAreErrorsAtOnce() throws Exception {
        Certificates certificates =
                new Certificates(folder)
                        .authority("authority")
                        .authority("other")
                        .server("member", "authority");
        Path other = file("other.pem", certificates.authorities("other"));
        try (EtcdCluster etcd =
                EtcdCluster.start(
                        1,
                        folder,
                        "--cert-file",
                        file("member.pem", certificates.certificate("member")).toString(),
                        "--key-file",
                        file("member.key", certificates.key("member")).toString())) {
            assertThatThrownBy(() -> EtcdStore.connect(etcd.url("p") + "?cacert=" + other, NEVER))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("Check cacert, cert and key")
                    .hasMessageNotContaining("too few members");
        }
        try (EtcdCluster etcd = EtcdCluster.start(1, Files.createDirectory(folder.resolve("b")))) {
            try (Client client = Client.builder().endpoints(etcd.endpoint(0)).build()) {
                Auth auth = client.getAuthClient();
                auth.userAdd(bytes("root"), bytes("secret")).get();
                auth.userGrantRole(bytes("root"), bytes("root")).get();
                auth.authEnable().get();
            }
            assertThatThrownBy(() -> EtcdStore.connect(etcd.url("p") + "?user=root:guess", NEVER))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("user=NAME:PASSWORD")
                    .hasMessageNotContaining("too few members");
        }
    }

    @Test
    void aDamagedKeyIsNamed() throws Exception {
        try (EtcdCluster etcd = EtcdCluster.start(1, folder)) {
            try (Client client = Client.builder().endpoints(etcd.endpoint(0)).build()) {
                client.getKVClient().put(bytes("p/lease"), bytes("x")).get();
            }
            assertThatThrownBy(() -> EtcdStore.connect(etcd.url("p"), NEVER))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("the key 'p/lease' is damaged: it is 'x'");
        }
    }
}
