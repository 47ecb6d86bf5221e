package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The shells source what is printed. */
final class CompletionCommandTest {

    @TempDir private Path folder;

    private Path script(String shell) throws IOException {
        Command completion = Command.jccl("completion", shell);
        assertThat(completion.exitCode()).as(completion.err()).isZero();
        return Files.writeString(folder.resolve("jccl." + shell), completion.out());
    }

    private String run(String... command) throws Exception {
        Path output = folder.resolve("output");
        Process shell =
                new ProcessBuilder(command)
                        .directory(folder.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        try {
            assertThat(shell.waitFor(60, TimeUnit.SECONDS)).isTrue();
        } finally {
            shell.destroyForcibly();
        }
        String said = Files.readString(output);
        assertThat(shell.exitValue()).as(said).isZero();
        return said;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "be | bench",
                "r | run ranktable",
                "ranktable s | show",
                "bench --sv | --svg",
                "bench all_r | all_reduce",
                "bench all_reduce --backend n | nccl",
                "plot a.csv -o k | kept.svg",
                "run --max-r | --max-restarts",
                "trace --h | --html --help",
                "completion z | zsh",
            })
    void bashCompletes(String typed, String words) throws Exception {
        Files.createFile(folder.resolve("kept.svg"));
        String said =
                run(
                        "bash",
                        "--norc",
                        "-euo",
                        "pipefail",
                        "-c",
                        """
                        set +u
                        compopt() { :; } # bash has it only while a key is handled
                        source "$1"
                        shift
                        COMP_WORDS=(jccl $*)
                        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                        COMP_LINE="jccl $*"
                        COMP_POINT=${#COMP_LINE}
                        _complete_jccl jccl || true
                        echo "${COMPREPLY[@]}"
                        """,
                        "bash",
                        script("bash").toString(),
                        typed);
        assertThat(said.trim().split("\\s+")).containsExactlyInAnyOrder(words.split(" "));
    }

    @Test
    void zshTakesItToo() throws Exception {
        boolean there =
                Stream.of(System.getenv("PATH").split(File.pathSeparator))
                        .anyMatch(each -> Files.isExecutable(Path.of(each, "zsh")));
        assumeThat(there).as("no zsh on the PATH").isTrue();
        String said =
                run(
                        "zsh",
                        "-f",
                        "-c",
                        "autoload -Uz compinit; compinit -u -D; source $1; print ${_comps[jccl]}",
                        "zsh",
                        script("zsh").toString());
        assertThat(said.trim()).contains("_complete_jccl");
    }

    @Test
    void refusesOtherShells() {
        Command fish = Command.jccl("completion", "fish");
        assertThat(fish.exitCode()).isEqualTo(2);
        assertThat(fish.err()).contains("'fish' has no completion here; known: bash zsh");
        assertThat(Command.jccl("completion").exitCode()).isEqualTo(2);
    }

    @Test
    void everyCommandTellsTheVersionAndHasExamples() {
        for (String command :
                List.of("run", "bench", "plot", "info", "ranktable", "trace", "completion")) {
            Command version = Command.jccl(command, "--version");
            assertThat(version.out())
                    .as(command)
                    .startsWith("jccl ")
                    .contains("\nJava " + System.getProperty("java.version"))
                    .contains("\nLinux ", System.getProperty("os.arch"));
            assertThat(Command.jccl(command, "--help").out())
                    .as(command)
                    .contains("\n  jccl " + command + " ");
        }
        assertThat(Command.jccl("--version").out()).isEqualTo(Command.jccl("run", "-V").out());
    }
}
