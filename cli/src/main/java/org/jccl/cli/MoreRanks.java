package org.jccl.cli;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/**
 * Ranks of another role with their own command, which follow a lone colon in the arguments of
 * {@code jccl run}, as in {@code mpirun}.
 */
@Command(name = ":")
final class MoreRanks {

    private static final String SEPARATOR = ":";
    private static final String ROLE = "--role";

    @Option(names = ROLE, required = true)
    String role;

    @Option(
            names = {"-n", "--nproc-per-node", "--nproc_per_node"},
            converter = RankCount.class)
    int ranks = 1;

    @Parameters(arity = "1..*", paramLabel = "CMD")
    List<String> command;

    /**
     * Splits arguments at colons. A colon counts only if {@code --role} follows, so that commands
     * may have a colon among their arguments.
     *
     * @param words the arguments after the options of {@code jccl run}
     * @return the first command, and the arguments after each colon
     */
    static List<List<String>> split(List<String> words) {
        List<List<String>> parts = new ArrayList<>();
        int start = 0;
        for (int i = 1; i < words.size() - 1; i++) {
            String next = words.get(i + 1);
            boolean role = next.equals(ROLE) || next.startsWith(ROLE + "=");
            if (words.get(i).equals(SEPARATOR) && role) {
                parts.add(words.subList(start, i));
                start = i + 1;
            }
        }
        parts.add(words.subList(start, words.size()));
        return parts;
    }

    /**
     * Parses the arguments after a colon.
     *
     * @param run the command, for errors
     * @throws ParameterException if an option is wrong or there is no command
     */
    static MoreRanks parse(List<String> words, CommandLine run) {
        MoreRanks ranks = new MoreRanks();
        try {
            new CommandLine(ranks)
                    .setStopAtPositional(true)
                    .parseArgs(words.toArray(String[]::new));
            return ranks;
        } catch (ParameterException e) {
            throw new ParameterException(
                    run, "after ':' in '" + String.join(" ", words) + "': " + e.getMessage());
        }
    }
}
