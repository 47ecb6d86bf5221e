package org.jccl.internal.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.SoftAssertions;
import org.jccl.UsageException;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An endpoint has the meaning that torchrun gives it. */
class EndpointTest {

    private static final String REFUSED = "refused";

    /** Without a port in the text. */
    private static final int NONE = -1;

    /** Each text, its host and port, and what torchrun says if that differs. */
    private static final String[][] FORMS = {
        {"localhost", "localhost -1"},
        {"localhost:0", "localhost 0"},
        {"h:29500", "h 29500"},
        {"h:65535", "h 65535"},
        {"h:65536", REFUSED},
        {"localhost:99999", REFUSED},
        {"h:000001", REFUSED},
        {"h:x", REFUSED},
        {"h:", REFUSED},
        {"h: 1", REFUSED},
        {"h :1", REFUSED},
        {"h:1 2", REFUSED},
        {"h:-1", REFUSED},
        {"h:+1", REFUSED},
        {"h:1_0", REFUSED},
        {"h:\uff11", REFUSED},
        {"  h:1 ", "h 1"},
        {"h:1\n", "h 1"},
        {"h\t", "h -1"},
        {":29500", REFUSED},
        {":", REFUSED},
        {"::", ":: -1", REFUSED},
        {"::1", "::1 -1", ": 1"},
        {"::1:29486", "::1 29486"},
        {"[::1]", "::1 -1"},
        {"[::1]:9", "::1 9"},
        {"[::1]:", REFUSED},
        {"[::1", REFUSED},
        {"::1]", REFUSED},
        {"[]", REFUSED},
        {"[]:1", REFUSED},
        {"[[::1]]:1", REFUSED},
        {"[h]:1", "h 1"},
        {"[h]", "h -1"},
        {"fe80::1:29500", "fe80::1 29500"},
        {"2001:db8::1", "2001:db8::1 -1", "2001:db8: 1"},
        {"2001:db8:0:0:0:0:0:1", "2001:db8:0:0:0:0:0:1 -1", "2001:db8:0:0:0:0:0 1"},
        {"2001:db8:0:0:0:0:0:1:80", "2001:db8:0:0:0:0:0:1 80"},
        {"[2001:db8::1]:29500", "2001:db8::1 29500"},
        {"::ffff:10.0.0.1:29500", "::ffff:10.0.0.1 29500"},
        {"[::ffff:10.0.0.1]:29500", "::ffff:10.0.0.1 29500"},
        {"fe80::1%eth0", "fe80::1%eth0 -1", REFUSED},
        {"[fe80::1%eth0]:9", "fe80::1%eth0 9", REFUSED},
        {"h::1", REFUSED, "h: 1"},
        {"h:1:2", REFUSED, "h:1 2"},
        {"a:1,b:2", REFUSED},
        {"a,b", REFUSED},
        {"tcp://localhost:29482", REFUSED},
        {"tcp://localhost", REFUSED},
        {"user@h:1", REFUSED},
        {"h/x:1", REFUSED},
        {"h:1/x", REFUSED},
        {"h:1?x=1", REFUSED},
        {"a b:1", REFUSED},
        {"$HOST:1", REFUSED},
        {"*:1", REFUSED},
        {"30000", REFUSED, "30000 -1"},
        {"1:2", "1 2"},
        {"127.0.0.1", "127.0.0.1 -1"},
        {"127.0.0.1:29484", "127.0.0.1 29484"},
        {"0.0.0.0:0", "0.0.0.0 0"},
        {"my_host.a-b:01", "my_host.a-b 1"},
        {"h.example.com.", "h.example.com. -1"},
        {"b\u00fccher.example:1", "b\u00fccher.example 1"},
        {"-h:1", "-h 1"},
    };

    private static String meaning(String text) {
        try {
            Endpoint endpoint = Endpoint.parse("--rdzv-endpoint", text);
            return endpoint.host() + " " + endpoint.port().orElse(NONE);
        } catch (UsageException e) {
            return REFUSED;
        }
    }

    @Test
    void formsHaveTheirMeaning() {
        SoftAssertions all = new SoftAssertions();
        for (String[] form : FORMS) {
            all.assertThat(meaning(form[0])).as(form[0]).isEqualTo(form[1]);
        }
        all.assertAll();
    }

    @Test
    void torchrunAgrees() throws Exception {
        String script =
                """
                import sys
                from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
                for text in sys.argv[1:]:
                    text = bytes.fromhex(text).decode("utf-8")
                    try:
                        answer = "%s %d" % parse_rendezvous_endpoint(text, -1)
                    except ValueError:
                        answer = "refused"
                    print(answer.encode("utf-8").hex())
                """;
        List<String> command = new ArrayList<>(List.of(TorchPython.require(), "-c", script));
        for (String[] form : FORMS) {
            command.add(hex(form[0]));
        }
        Process python =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        List<String> answers =
                new String(python.getInputStream().readAllBytes(), StandardCharsets.US_ASCII)
                        .lines()
                        .toList();
        assertThat(python.waitFor(60, TimeUnit.SECONDS)).isTrue();
        List<String> expected =
                Arrays.stream(FORMS).map(form -> hex(form[form.length - 1])).toList();
        assertThat(answers).isEqualTo(expected);
    }

    private static String hex(String text) {
        return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
    }

    @ParameterizedTest
    @CsvSource({
        "h, h",
        "' h ', h",
        "[::1], ::1",
        "::1, ::1",
        "fe80::1:2, fe80::1:2",
        "1:2:3:4:5:6:7:8, 1:2:3:4:5:6:7:8",
        "fe80::1%eth0, fe80::1%eth0"
    })
    void aHostMayHaveBracketsAndNoPort(String text, String host) {
        assertThat(Endpoint.host("MASTER_ADDR", text)).isEqualTo(host);
    }

    @ParameterizedTest
    @ValueSource(strings = {"h:29500", "[::1]:29500", "127.0.0.1:1"})
    void aHostWithAPortIsRefused(String text) {
        assertThatThrownBy(() -> Endpoint.host("MASTER_ADDR", text))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("MASTER_ADDR=" + text)
                .hasMessageContaining("give the port separately");
    }

    @ParameterizedTest
    @CsvSource({"h, h:2379", "h:1, h:1", "[::1]:1, [::1]:1", "::1, [::1]:2379"})
    void inAUrlAnAddressOfIpv6HasBrackets(String text, String authority) {
        assertThat(Endpoint.parse("--rdzv-endpoint", text).authority(2379)).isEqualTo(authority);
    }
}
