package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.FreePort;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Java ranks under PyTorch's own torchrun. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(240)
@Tag("all")
class TorchrunTest {

    private record Result(int exitCode, String output) {}

    /** Prints the sum of all ranks + 1. Fails in rank 1 as often as it is told, if it is. */
    static final class Sum {
        private Sum() {}

        public static void main(String[] arguments) throws InterruptedException {
            int failures = arguments.length == 0 ? 0 : Integer.parseInt(arguments[0]);
            int restarts = Integer.parseInt(System.getenv("TORCHELASTIC_RESTART_COUNT"));
            try (ProcessGroup world = ProcessGroup.init("gloo");
                    Tensor x = Tensor.copyOf(new float[] {world.rank() + 1})) {
                if (restarts < failures) {
                    failInRankOne(world.rank());
                }
                world.allReduce(x, ReduceOp.SUM).await();
                System.out.println("sum " + x.copyTo(new float[1])[0]);
            }
        }

        private static void failInRankOne(int rank) throws InterruptedException {
            if (rank == 1) {
                throw new IllegalStateException("the disk of rank 1 is full");
            }
            new CountDownLatch(1).await();
        }
    }

    private static Result torchrun(List<String> options, String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.addAll(List.of(TorchPython.require(), "-m", "torch.distributed.run"));
        command.addAll(options);
        command.addAll(
                List.of(
                        "--no-python",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of(ChildJvm.shortLived()));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Sum.class.getName()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            String output = process.inputReader().lines().collect(Collectors.joining("\n"));
            return new Result(process.waitFor(), output);
        } finally {
            process.destroy();
        }
    }

    /** What torchrun does without options; its own default port may be taken. */
    private static String freePort() throws Exception {
        return "--master-port=" + FreePort.next();
    }

    /** Each is taken, ignored with a line, or refused with a reason. */
    @Test
    void jcclRunKnowsEveryOption() throws Exception {
        String list =
                "import torch.distributed.run as r\n"
                        + "for a in r.get_args_parser()._actions:\n"
                        + "    for s in a.option_strings: print('option', s)";
        Process process = new ProcessBuilder(TorchPython.require(), "-c", list).start();
        List<String> options =
                process.inputReader()
                        .lines()
                        .filter(line -> line.startsWith("option "))
                        .map(line -> line.substring("option ".length()))
                        .toList();
        assertThat(process.waitFor()).isZero();
        assertThat(options).hasSizeGreaterThan(40);
        assertThat(new CommandLine(new RunCommand()).getCommandSpec().optionsMap().keySet())
                .containsAll(options);
    }

    @Test
    void fourRanksMeet() throws Exception {
        Result result = torchrun(List.of("--standalone", "--nproc-per-node=4"));
        assertThat(result.exitCode()).as(result.output()).isZero();
        assertThat(result.output().lines().filter(line -> line.contains("sum 10.0"))).hasSize(4);
    }

    @Test
    void theRootCauseIsShown() throws Exception {
        Result result = torchrun(List.of("--standalone", "--nproc-per-node=2"), "1");
        assertThat(result.exitCode()).isEqualTo(1);
        String rootCause = result.output().split("Root Cause", 2)[1];
        assertThat(rootCause)
                .contains("rank      : 1 (local_rank: 1)")
                .contains("traceback : java.lang.IllegalStateException: the disk of rank 1 is full")
                .contains("at org.jccl.cli.TorchrunTest$Sum.failInRankOne");
        // The JVM's own report is still there.
        assertThat(result.output()).contains("Exception in thread \"main\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--standalone", "one store for all attempts"})
    void ranksMeetAgainAfterARestart(String rendezvous) throws Exception {
        String place = rendezvous.startsWith("--") ? rendezvous : freePort();
        Result result = torchrun(List.of(place, "--nproc-per-node=2", "--max-restarts=2"), "2");
        assertThat(result.exitCode()).as(result.output()).isZero();
        assertThat(result.output().lines().filter(line -> line.contains("sum 3.0"))).hasSize(2);
    }
}
