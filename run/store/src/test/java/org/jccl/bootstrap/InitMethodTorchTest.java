package org.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.SoftAssertions;
import org.jccl.BootstrapException;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** PyTorch finds the same store, rank and world size in a URL, or refuses it as well. */
class InitMethodTorchTest {

    private static final String REFUSED = "refused";

    /** Each URL, and what it means. */
    private static final String[][] URLS = {
        {"file:///d/plain?rank=0&world_size=2", "file /d/plain 0 2"},
        {"FILE:///d/plain?rank=0&world_size=2", "file /d/plain 0 2"},
        {"File:///D/Plain?rank=1&world_size=2", "file /D/Plain 1 2"},
        {"file:///d/x%41?rank=0&world_size=2", "file /d/x%41 0 2"},
        {"file:///d/50%?rank=0&world_size=2", "file /d/50% 0 2"},
        {"file:///d/%zz?rank=0&world_size=2", "file /d/%zz 0 2"},
        {"file:///d/%2e%2e/x?rank=0&world_size=2", "file /d/%2e%2e/x 0 2"},
        {"file:///d/a+b c?rank=0&world_size=2", "file /d/a+b c 0 2"},
        {"file:///d/\u00e9\ud83d\ude00?rank=0&world_size=2", "file /d/\u00e9\ud83d\ude00 0 2"},
        {"file:///d/x?rank=0&world_size=2#z", "file /d/x 0 2"},
        {"file:///d/x#z?rank=0&world_size=2", REFUSED},
        {"file:///d/a;b=1&c?rank=0&world_size=2", "file /d/a;b=1&c 0 2"},
        {"file:///d/a:b@c[d]?rank=0&world_size=2", "file /d/a:b@c[d] 0 2"},
        {"file:////d//x?rank=0&world_size=2", "file //d//x 0 2"},
        {"file://host/d/x?rank=0&world_size=2", "file /d/x 0 2"},
        {"file:/d/x?rank=0&world_size=2", "file /d/x 0 2"},
        {"file:d/x?rank=0&world_size=2", "file d/x 0 2"},
        {"file://?rank=0&world_size=2", REFUSED},
        {"file://x?rank=0&world_size=2", REFUSED},
        {" \tfile:///d/x?rank=0&world_size=2", "file /d/x 0 2"},
        {"file:///d/x?rank=0&world_size=2\n", "file /d/x 0 2"},
        {"file:///d/x y?rank=0&world_size=2 ", "file /d/x y 0 2"},
        {"file:///d/x?rank=0&world_size=2?3", REFUSED},
        {"file:///d/x?&rank=0&&world_size=2&", "file /d/x 0 2"},
        {"file:///d/x?rank=0&world_size=2&other=1", "file /d/x 0 2"},
        {"file:///d/x?rank=0&world_size=2&use_libuv=0", "file /d/x 0 2"},
        {"file:///d/x?rank=0&rank=1&world_size=2", "file /d/x 1 2"},
        {"file:///d/x?rank=0=7&world_size=2", "file /d/x 0 2"},
        {"file:///d/x?rank&world_size=2", REFUSED},
        {"file:///d/x?rank=&world_size=2", REFUSED},
        {"file:///d/x?rank=%30&world_size=2", REFUSED},
        {"file:///d/x?rank=+1&world_size= 2", "file /d/x 1 2"},
        {"file:///d/x?rank=1_0&world_size=1_1", "file /d/x 10 11"},
        {"file:///d/x?rank=1.0&world_size=2", REFUSED},
        {"file:///d/x?RANK=1&world_size=2", REFUSED},
        {"tcp://h:1?rank=0&world_size=2", "tcp h 1 0 2"},
        {"TCP://h:1?rank=0&world_size=2", "tcp h 1 0 2"},
        {"tcp://127.0.0.1:29500/path?rank=0&world_size=2", "tcp 127.0.0.1 29500 0 2"},
        {"tcp://my_host.a-b:01?rank=0&world_size=2", "tcp my_host.a-b 1 0 2"},
        {"tcp://[::1]:9?rank=0&world_size=2", "tcp ::1 9 0 2"},
        {"tcp://[fe80::1%eth0]:9?rank=0&world_size=2", "tcp fe80::1%eth0 9 0 2"},
        {"tcp://::1:9?rank=0&world_size=2", REFUSED},
        {"tcp://[::1]?rank=0&world_size=2", REFUSED},
        {"tcp://[::1:9?rank=0&world_size=2", REFUSED},
        {"tcp://user:word@h:1?rank=0&world_size=2", "tcp h 1 0 2"},
        {"tcp://h?rank=0&world_size=2", REFUSED},
        {"tcp://h:?rank=0&world_size=2", REFUSED},
        {"tcp://:1?rank=0&world_size=2", REFUSED},
        {"tcp://h:65536?rank=0&world_size=2", REFUSED},
        {"tcp://h:-1?rank=0&world_size=2", REFUSED},
        {"tcp://h:x?rank=0&world_size=2", REFUSED},
        {"tcp:h:1?rank=0&world_size=2", REFUSED},
        {"h:1?rank=0&world_size=2", REFUSED},
        {"/d/x?rank=0&world_size=2", REFUSED},
        {"http://h:1?rank=0&world_size=2", REFUSED},
        {"://h:1?rank=0&world_size=2", REFUSED},
        {"1tcp://h:1?rank=0&world_size=2", REFUSED},
    };

    @TempDir private Path folder;

    private static String meaning(String url) {
        InitMethod method;
        try {
            method = InitMethod.parse(url);
        } catch (BootstrapException e) {
            return REFUSED;
        }
        if (method.rank().isEmpty() || method.worldSize().isEmpty()) {
            return REFUSED; // no other value is given
        }
        String place =
                method.scheme().equals("file")
                        ? method.path()
                        : method.host() + " " + method.port();
        return "%s %s %d %d"
                .formatted(
                        method.scheme(),
                        place,
                        method.rank().getAsInt(),
                        method.worldSize().getAsInt());
    }

    @Test
    void urlsHaveTheirMeaning() {
        SoftAssertions all = new SoftAssertions();
        for (String[] url : URLS) {
            all.assertThat(meaning(url[0])).as(url[0]).isEqualTo(url[1]);
        }
        all.assertAll();
    }

    @Test
    void pytorchAgrees() throws Exception {
        String script =
                """
                import json, sys
                import torch.distributed
                r = sys.modules["torch.distributed.rendezvous"]
                r.FileStore = lambda path, size: ("file", path)
                r._create_c10d_store = lambda host, port, *rest: ("tcp", "%s %d" % (host, port))
                out = []
                for url in json.load(open(sys.argv[1], encoding="utf-8")):
                    try:
                        store, rank, size = next(r.rendezvous(url))
                        port = int(store[1].rsplit(" ", 1)[1]) if store[0] == "tcp" else 0
                        good = 0 <= port < 2 ** 16
                        out.append("%s %s %d %d" % (*store, rank, size) if good else "refused")
                    except Exception:
                        out.append("refused")
                json.dump(out, open(sys.argv[2], "w"))
                """;
        Path urls = folder.resolve("urls");
        Path answers = folder.resolve("answers");
        List<String> json = new ArrayList<>();
        for (String[] url : URLS) {
            StringBuilder text = new StringBuilder("\"");
            url[0].chars().forEach(c -> text.append("\\u%04x".formatted(c)));
            json.add(text.append('"').toString());
        }
        Files.writeString(urls, json.toString());
        Process python =
                new ProcessBuilder(
                                TorchPython.require(),
                                "-c",
                                script,
                                urls.toString(),
                                answers.toString())
                        .inheritIO()
                        .start();
        assertThat(python.waitFor(120, TimeUnit.SECONDS)).isTrue();
        assertThat(python.exitValue()).isZero();
        String[] expected = Arrays.stream(URLS).map(url -> url[1]).toArray(String[]::new);
        assertThat(answersIn(Files.readString(answers, StandardCharsets.UTF_8)))
                .containsExactly(expected);
    }

    /** A JSON array of texts whose escapes are all of UTF-16. */
    private static List<String> answersIn(String json) {
        List<String> answers = new ArrayList<>();
        for (String text : json.substring(2, json.length() - 2).split("\", \"")) {
            StringBuilder answer = new StringBuilder();
            for (int i = 0; i < text.length(); i++) {
                boolean escape = text.startsWith("\\u", i);
                answer.append(
                        escape
                                ? (char) Integer.parseInt(text.substring(i + 2, i + 6), 16)
                                : text.charAt(i));
                i += escape ? 5 : 0;
            }
            answers.add(answer.toString());
        }
        return answers;
    }
}
