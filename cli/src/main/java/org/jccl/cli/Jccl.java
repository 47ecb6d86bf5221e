package org.jccl.cli;

import java.io.FileDescriptor;
import java.io.PrintWriter;
import java.util.List;
import java.util.Properties;
import org.jccl.JcclException;
import org.jccl.cli.bench.BenchCommand;
import org.jccl.cli.bench.PlotCommand;
import org.jccl.cli.info.Host;
import org.jccl.cli.info.InfoCommand;
import org.jccl.cli.ranktable.RankTableCommand;
import org.jccl.cli.top.TopCommand;
import org.jccl.cli.trace.TraceCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The {@code jccl} command. */
@Command(
        name = "jccl",
        description = "Collective communication for the JVM.",
        mixinStandardHelpOptions = true,
        versionProvider = Jccl.Version.class,
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  jccl info",
            "  jccl run -n 4 app.jar",
            "  jccl bench all_reduce -g 2 --svg all_reduce.svg",
            "  source <(jccl completion bash)"
        })
public final class Jccl {

    private static final List<Class<?>> COMMANDS =
            List.of(
                    RunCommand.class,
                    BenchCommand.class,
                    PlotCommand.class,
                    InfoCommand.class,
                    RankTableCommand.class,
                    TraceCommand.class,
                    TopCommand.class,
                    CompletionCommand.class);

    private Jccl() {}

    /**
     * Runs a command and ends this JVM with its exit code.
     *
     * @param arguments the command line, for instance {@code run --nproc-per-node 2 -- hostname}
     */
    public static void main(String[] arguments) {
        logInOneLine();
        // The lines of ranks are passed unchanged, whatever the locale is.
        PrintWriter out = new RawWriter(FileDescriptor.out);
        PrintWriter err = new RawWriter(FileDescriptor.err);
        int exitCode = execute(out, err, RawArguments.of(arguments));
        System.exit(exitCode);
    }

    /** Sets the format of log lines, unless the user has configured logging. */
    private static void logInOneLine() {
        Properties given = System.getProperties();
        if (!given.containsKey("java.util.logging.config.file")
                && !given.containsKey("java.util.logging.config.class")) {
            given.putIfAbsent("java.util.logging.SimpleFormatter.format", "jccl: %4$s: %5$s%6$s%n");
        }
    }

    /**
     * Runs a command.
     *
     * @param out its standard output
     * @param err its standard error
     * @param arguments the command line
     * @return its exit code: 0 for success, 2 for a wrong command line, otherwise the command's own
     */
    static int execute(PrintWriter out, PrintWriter err, String... arguments) {
        CommandLine jccl = commandLine(arguments.length == 0 ? "" : arguments[0]);
        // Options after the command that "run" starts belong to that command.
        CommandLine run = jccl.getSubcommands().get("run");
        if (run != null) {
            run.setStopAtPositional(true);
            // As in torchrun, the last one counts, for instance after the options of a script.
            run.setOverwrittenOptionsAllowed(true);
        }
        return jccl.setOut(out)
                .setErr(err)
                .setParameterExceptionHandler((wrong, given) -> explain(wrong))
                .setExecutionExceptionHandler(
                        (failure, command, parsed) -> {
                            // Our own messages say what to do; a stack trace would bury them.
                            if (failure instanceof CommandLine.ExecutionException) {
                                String name = command.getCommandSpec().qualifiedName();
                                command.getErr().println(name + ": " + failure.getMessage());
                            } else if (failure instanceof JcclException) {
                                command.getErr().println("jccl: " + failure.getMessage());
                            } else {
                                throw failure;
                            }
                            return command.getCommandSpec().exitCodeOnExecutionException();
                        })
                .execute(arguments);
    }

    /** Prints the reason last, where it is seen, and not above all options. */
    private static int explain(CommandLine.ParameterException wrong) {
        CommandLine command = wrong.getCommandLine();
        PrintWriter err = command.getErr();
        String name = command.getCommandSpec().qualifiedName();
        err.print("Usage: " + command.getHelp().abbreviatedSynopsis());
        err.println("Run '" + name + " --help' for all options.");
        err.println(name + ": " + wrong.getMessage());
        CommandLine.UnmatchedArgumentException.printSuggestions(wrong, err);
        return command.getCommandSpec().exitCodeOnInvalidInput();
    }

    /**
     * The command line with the requested command only, because making all of them takes longer
     * than most commands run. It has all commands for help, completion and unknown names.
     */
    private static CommandLine commandLine(String name) {
        CommandLine jccl = new CommandLine(new Jccl());
        for (Class<?> command : requested(name)) {
            jccl.addSubcommand(command);
        }
        provideVersion(jccl);
        return jccl;
    }

    private static List<Class<?>> requested(String name) {
        for (Class<?> command : COMMANDS) {
            if (command.getAnnotation(Command.class).name().equals(name)
                    && command != CompletionCommand.class) {
                return List.of(command);
            }
        }
        return COMMANDS;
    }

    /** All commands take {@code --version}. */
    private static void provideVersion(CommandLine command) {
        command.getCommandSpec().versionProvider(new Version());
        command.getSubcommands().values().forEach(Jccl::provideVersion);
    }

    /** The versions that a bug report should have. */
    static final class Version implements CommandLine.IVersionProvider {

        @Override
        public String[] getVersion() {
            Host host = Host.current();
            return new String[] {
                "jccl " + host.version(),
                "Java " + host.java() + ", " + host.vm(),
                host.os() + ", " + host.arch()
            };
        }
    }
}
