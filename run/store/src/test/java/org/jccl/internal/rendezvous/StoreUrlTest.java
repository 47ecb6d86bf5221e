package org.jccl.internal.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import org.jccl.BootstrapException;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class StoreUrlTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ETCD://h:1 | h | 1 | ETCD://h:1/run",
                "etcd://h:2379,i:2380/jobs | h | 2379 | etcd://h:2379,i:2380/jobs/run",
                "etcd://[::1]:7/jobs/?cacert=x | ::1 | 7 | etcd://[::1]:7/jobs/run?cacert=x"
            })
    void hasAServerAndParts(String text, String host, int port, String part) {
        StoreUrl url = StoreUrl.parse(text);
        assertThat(url.scheme()).isEqualTo("etcd");
        assertThat(url.host()).isEqualTo(host);
        assertThat(url.port()).isEqualTo(port);
        assertThat(url.below("run").text()).isEqualTo(part);
        assertThat(url.below("run").host()).isEqualTo(host);
    }

    /** A run id may be any text. */
    @Test
    void aPartHasNoOptionsOfItsOwn() {
        assertThat(StoreUrl.parse("etcd://h:1/jobs?ttl=5").below("a?b#c").text())
                .isEqualTo("etcd://h:1/jobs/a_b_c?ttl=5");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "h:1", "etcd:h:1", "etcd://h", "etcd://:1", "etcd://h:x/p"})
    void whatIsMalformedIsRefused(String text) {
        assertThatThrownBy(() -> StoreUrl.parse(text))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("etcd://host1:2379");
    }

    @Test
    void aMissingArtifactIsNamed() {
        assertThat(StoreUrl.isProvided("etcd")).isFalse();
        assertThatThrownBy(
                        () ->
                                StoreUrl.parse("etcd://h:1/p")
                                        .connect(expires(Duration.ofSeconds(1))))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("org.jccl:jccl-etcd");
    }
}
