package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What {@code jccl run} does as a process: signals, standard input, and bytes. */
@Timeout(120)
class RunProcessTest {

    private static ProcessBuilder jccl(String... arguments) {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-Djccl.sr.signum=16",
                                "-cp",
                                System.getProperty("java.class.path"),
                                Jccl.class.getName(),
                                "run"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
        // As the jccl script does.
        builder.environment().put("_JAVA_SR_SIGNUM", "16");
        return builder;
    }

    private static String outputOf(Process process) throws IOException {
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }

    private static void kill(String signal, Process process) throws Exception {
        kill(signal, process.pid());
    }

    private static void kill(String signal, long process) throws Exception {
        Process kill =
                new ProcessBuilder("sh", "-c", "kill -s $0 $1", signal, "" + process).start();
        assertThat(kill.waitFor(30, TimeUnit.SECONDS)).isTrue();
    }

    /** Whether this process, and so each that it starts, ignores a signal. */
    private static boolean isIgnored(int number) throws IOException {
        String mask =
                Files.readAllLines(Path.of("/proc/self/status")).stream()
                        .filter(line -> line.startsWith("SigIgn:"))
                        .map(line -> line.substring("SigIgn:".length()).strip())
                        .findFirst()
                        .orElse("0");
        return (Long.parseUnsignedLong(mask, 16) >>> (number - 1) & 1) == 1;
    }

    /** A rank that saves its state when Slurm announces the end, and one that it does not end. */
    @ParameterizedTest
    @CsvSource({"USR1,0", "USR2,0", "ALRM,0", "PWR,0", "XCPU,0", "TERM,143", "HUP,129", "INT,130"})
    void aSignalReachesTheRanks(String signal, int exitCode) throws Exception {
        assumeFalse(
                exitCode > 128 && isIgnored(exitCode - 128),
                "processes in the background of a shell ignore SIG" + signal);
        String arrives = exitCode == 0 ? signal : "TERM";
        String script =
                "trap 'echo saved; exit 0' %s; echo ready ${_JAVA_SR_SIGNUM-clean}; while :; do sleep 0.1; done";
        Process process = jccl("--", "bash", "-c", script.formatted(arrives)).start();
        try {
            BufferedReader lines = process.inputReader();
            assertThat(lines.readLine()).isEqualTo("[0] ready 16");
            kill(signal, process);
            assertThat(lines.lines()).contains("[0] saved");
            assertThat(process.waitFor()).isEqualTo(exitCode);
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void aSignalThatIsToBeHandledEndsTheJob() throws Exception {
        String script = "trap 'echo got it' USR1; echo ready; while :; do sleep 0.1; done";
        Process process =
                jccl(
                                "--signals-to-handle=SIGUSR1",
                                "--shutdown-timeout=0.5",
                                "--",
                                "bash",
                                "-c",
                                script)
                        .start();
        try {
            BufferedReader lines = process.inputReader();
            assertThat(lines.readLine()).isEqualTo("[0] ready");
            kill("USR1", process);
            assertThat(lines.lines()).contains("[0] got it");
            assertThat(process.waitFor()).isEqualTo(138);
        } finally {
            process.destroyForcibly();
        }
    }

    /** As Grid Engine does before it kills a job: to the launcher and to its ranks. */
    @Test
    void aSignalThatIsTakenAsSigtermDoesNotEndTheRanksItself() throws Exception {
        String script = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done";
        Process process = jccl("--terminate-on=SIGUSR2", "--", "bash", "-c", script).start();
        try {
            BufferedReader lines = process.inputReader();
            assertThat(lines.readLine()).isEqualTo("[0] ready");
            for (ProcessHandle rank : process.children().toList()) {
                kill("USR2", rank.pid());
            }
            kill("USR2", process);
            assertThat(lines.lines()).contains("[0] saved");
            assertThat(process.waitFor()).isEqualTo(143);
        } finally {
            process.destroyForcibly();
        }
    }

    /** The signal by which a JVM suspends threads would crash it. */
    @Test
    void aJvmSurvivesSigusr2() throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Process process =
                jccl(
                                "--terminate-on=SIGUSR2",
                                "--",
                                java,
                                "-cp",
                                System.getProperty("java.class.path"),
                                Waiting.class.getName())
                        .start();
        try {
            BufferedReader lines = process.inputReader();
            assertThat(lines.readLine()).isEqualTo("[0] ready");
            for (ProcessHandle rank : process.children().toList()) {
                kill("USR2", rank.pid());
            }
            kill("USR2", process);
            assertThat(lines.lines()).contains("[0] hook");
            assertThat(process.waitFor()).isEqualTo(143);
        } finally {
            process.destroyForcibly();
        }
    }

    /** Ends by a signal only. */
    static final class Waiting {

        private Waiting() {}

        public static void main(String[] arguments) throws InterruptedException {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
            System.out.println("ready");
            Thread.currentThread().join();
        }
    }

    @Test
    void rankZeroReadsTheInput() throws Exception {
        Process process = jccl("-n2", "--", "bash", "-c", "echo $RANK $(cat)").start();
        try (OutputStream input = process.getOutputStream()) {
            input.write("two\nlines".getBytes(StandardCharsets.UTF_8));
        }
        assertThat(outputOf(process).lines()).containsExactlyInAnyOrder("[0] 0 two lines", "[1] 1");
        assertThat(process.waitFor()).isZero();
    }

    @Test
    void bytesOfTheOutputStayAsTheyAre() throws Exception {
        Process process = jccl("--", "printf", "a\\377\\303\\251b\\n\\200").start();
        assertThat(outputOf(process)).isEqualTo("[0] a\u00ff\u00c3\u00a9b\n[0] \u0080\n");
    }

    /** Of no encoding, with what a shell would change; in a locale of ASCII too. */
    @ParameterizedTest
    @CsvSource({"C", "C.UTF-8"})
    void bytesOfArgumentsStayAsTheyAre(String locale) throws Exception {
        List<String> command = new ArrayList<>(jccl().command());
        String bytes =
                "for a; do printf %s \"$a\" | od -An -v -tx1 | tr -d \"\\n\"; echo \";\"; done";
        String script =
                "exec \"$@\" -- sh -c '"
                        + bytes
                        + "' sh \"$(printf 'a\\377b')\" '' \"$(printf '\\303\\251')\" \"it's $HOME\\\\ \" '\n'";
        command.addAll(0, List.of("sh", "-c", script, "sh"));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().put("LC_ALL", locale);
        builder.environment().put("HOME", "/h");
        Process process = builder.start();
        assertThat(outputOf(process))
                .isEqualTo(
                        """
                        [0]  61 ff 62;
                        [0] ;
                        [0]  c3 a9;
                        [0]  69 74 27 73 20 2f 68 5c 20;
                        [0]  0a;
                        """);
    }
}
