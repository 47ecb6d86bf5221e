package org.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jccl.BootstrapException;

/** Any text is an init method, which written again is the same, or is explained. */
class InitMethodFuzzTest {

    @FuzzTest
    void readsOrExplains(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        InitMethod method;
        try {
            method = InitMethod.parse(text);
        } catch (BootstrapException refused) {
            assertThat(refused).hasMessageContaining("init method");
            return;
        }
        String again = write(method);
        InitMethod read = InitMethod.parse(again);
        assertThat(write(read)).isEqualTo(again);
        assertThat(read.host()).isEqualTo(method.host());
        assertThat(read.path()).isEqualTo(method.path());
        // The file can be named.
        assertThat(Path.of(method.path())).isNotNull();
    }

    private static String write(InitMethod method) {
        String host = method.host().contains(":") ? "[" + method.host() + "]" : method.host();
        String place =
                switch (method.scheme()) {
                    case "tcp" -> host + ":" + method.port();
                    case "file" -> method.path();
                    default -> "";
                };
        StringBuilder text = new StringBuilder(method.scheme() + "://");
        text.append(place).append('?');
        method.rank().ifPresent(rank -> text.append("rank=").append(rank).append('&'));
        method.worldSize().ifPresent(size -> text.append("world_size=").append(size));
        return text.toString();
    }
}
