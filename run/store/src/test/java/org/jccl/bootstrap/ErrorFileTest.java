package org.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.jccl.UsageException;
import org.jccl.internal.rendezvous.RankVariables;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ErrorFileTest {

    @TempDir private Path folder;

    private Path path() {
        return folder.resolve("error.json");
    }

    private ErrorFile file() {
        return ErrorFile.in(Map.of(RankVariables.ERROR_FILE, path().toString())).orElseThrow();
    }

    @Test
    void isNamedByTheEnvironment() {
        assertThat(ErrorFile.in(Map.of())).isEmpty();
        assertThat(ErrorFile.in(Map.of(RankVariables.ERROR_FILE, ""))).isEmpty();
        assertThat(ErrorFile.in(Map.of(RankVariables.ERROR_FILE, "/no\0path"))).isEmpty();
        assertThat(file()).hasToString(path().toString());
    }

    @Test
    void hasTheFormOfTorchelastic() throws Exception {
        long before = Instant.now().getEpochSecond();
        file().record(new IllegalStateException("say \"no\"", new RuntimeException("why")));
        String text = Files.readString(path());
        assertThat(text)
                .startsWith("{\"message\":{\"message\":\"java.lang.IllegalStateException: say")
                .contains("say \\\"no\\\"")
                .contains("\"extraInfo\":{\"py_callstack\":\"java.lang.IllegalStateException")
                .contains("at org.jccl.bootstrap.ErrorFileTest.hasTheFormOfTorchelastic")
                .contains("Caused by: java.lang.RuntimeException: why");
        long timestamp = Long.parseLong(text.replaceAll("(?s).*\"timestamp\":\"(\\d+)\".*", "$1"));
        assertThat(timestamp).isBetween(before, Instant.now().getEpochSecond());
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(path());
        }
    }

    @Test
    void theFirstFailureIsKept() {
        file().record(new IllegalStateException("first"));
        file().record(new IllegalStateException("second"));
        assertThat(path()).content().contains("first").doesNotContain("second");
    }

    @Test
    void aFileThatCanNotBeWrittenIsNoFailureOfItsOwn() {
        Path missing = folder.resolve("missing/error.json");
        Map<String, String> environment = new HashMap<>();
        environment.put(RankVariables.ERROR_FILE, missing.toString());
        ErrorFile.in(environment).orElseThrow().record(new IllegalStateException("lost"));
        assertThat(missing).doesNotExist();
    }

    @Test
    void whatEndsAThreadIsRecordedAndHandedOn() throws Exception {
        List<Throwable> handed = new CopyOnWriteArrayList<>();
        Thread thread =
                new Thread(
                        () -> {
                            throw new IllegalStateException("the end");
                        });
        thread.setUncaughtExceptionHandler((where, failure) -> handed.add(failure));
        file().recordUncaught(thread);
        file().recordUncaught(thread);
        thread.start();
        thread.join();
        assertThat(handed)
                .hasSize(1)
                .first()
                .hasToString("java.lang.IllegalStateException: the end");
        assertThat(path()).content().contains("the end");
    }

    @Test
    void nullsAreRefused() {
        assertThatThrownBy(() -> ErrorFile.in(null)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> file().record(null)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> file().recordUncaught(null)).isInstanceOf(UsageException.class);
    }
}
