package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.cli.Command.jccl;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The reference of the command in the documentation is what the command says of itself. */
@Timeout(120)
final class CommandPageTest {

    private static final Path PAGE = Path.of("..", "docs", "command.md");

    private static final String HEAD =
            """
            # The jccl command

            This page has the help of every command, as `jccl COMMAND --help` prints it. [Getting
            started](getting-started.md#a-program) says where `jccl` is, [jobs](jobs.md) how to start one on
            several hosts.
            """;

    private static final List<List<String>> COMMANDS =
            List.of(
                    List.of("run"),
                    List.of("bench"),
                    List.of("plot"),
                    List.of("info"),
                    List.of("trace"),
                    List.of("top"),
                    List.of("ranktable", "generate"),
                    List.of("ranktable", "check"),
                    List.of("ranktable", "show"),
                    List.of("completion"));

    private static String page() {
        StringBuilder page = new StringBuilder(HEAD);
        for (List<String> command : COMMANDS) {
            String[] arguments = new String[command.size() + 1];
            command.toArray(arguments);
            arguments[command.size()] = "--help";
            page.append("\n## jccl ")
                    .append(String.join(" ", command))
                    .append("\n\n```\n")
                    .append(jccl(arguments).out())
                    .append("```\n");
        }
        return page.toString();
    }

    @Test
    void everyCommandIsThere() {
        assertThat(jccl("--help").out().lines().filter(line -> line.matches(" {2}[a-z]+ .*")))
                .map(line -> line.strip().split(" ")[0])
                .filteredOn(word -> !word.startsWith("jccl") && !word.equals("source"))
                .allSatisfy(
                        word ->
                                assertThat(COMMANDS)
                                        .anyMatch(command -> command.get(0).equals(word)));
    }

    @Test
    void thePageHasTheHelpOfEachCommand() throws Exception {
        Path written = Files.writeString(Path.of("target", "command.md"), page());
        assertThat(Files.readString(PAGE))
                .as("%s must be as %s is: copy it", PAGE, written)
                .isEqualTo(page());
    }
}
