package org.jccl.cli;

import java.io.PrintWriter;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Prints what makes a shell complete the command's words. */
@Command(
        name = "completion",
        description = "Print completion for a shell, to be sourced by it.",
        mixinStandardHelpOptions = true,
        footer = {
            "",
            "Examples:",
            "  source <(jccl completion bash)",
            "  jccl completion bash > ~/.local/share/bash-completion/completions/jccl",
            "  source <(jccl completion zsh)                 # in ~/.zshrc"
        })
final class CompletionCommand implements Callable<Integer> {

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "bash|zsh",
            completionCandidates = Shells.class,
            description = "The shell.")
    private String shell;

    @Override
    public Integer call() {
        if (!Shells.KNOWN.contains(shell)) {
            throw new ParameterException(
                    spec.commandLine(),
                    "'"
                            + shell
                            + "' has no completion here; known: "
                            + String.join(" ", Shells.KNOWN));
        }
        PrintWriter out = spec.commandLine().getOut();
        // One script for both: in zsh it loads what runs completion of bash.
        out.print(AutoComplete.bash("jccl", spec.root().commandLine()));
        out.flush();
        return 0;
    }

    /** For completion of this command itself. */
    static final class Shells implements Iterable<String> {

        private static final List<String> KNOWN = List.of("bash", "zsh");

        @Override
        public Iterator<String> iterator() {
            return KNOWN.iterator();
        }
    }
}
