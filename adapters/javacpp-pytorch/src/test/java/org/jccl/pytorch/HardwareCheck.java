package org.jccl.pytorch;

import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.Context;
import org.bytedeco.pytorch.global.torch;
import org.jccl.Device;
import org.jccl.ProcessGroup;

/**
 * Checks of this module on a device, as one rank of two. It needs no test framework:
 *
 * <pre>{@code
 * jccl run -n 2 -- java -cp ... org.jccl.pytorch.HardwareCheck cuda:0 nccl
 * }</pre>
 *
 * <p>Ranks that share a GPU need {@code script/hardware/nccl/shared_device.sh}. Without an argument
 * it runs on the CPU. Rank 0 prints each check with what it found. Exits with 1 if one failed.
 */
final class HardwareCheck {

    /** Of one operation, so that a rank that failed does not delay the other one for long. */
    private static final Duration OPERATION_TIMEOUT = enough(Duration.ofSeconds(15));

    /** Of one check. */
    private static final Duration CHECK_TIMEOUT = enough(Duration.ofSeconds(40));

    private HardwareCheck() {}

    /** The checks in their order. Each returns what it found. */
    static Map<String, Callable<String>> of(ProcessGroup group, Device device) {
        MemoryChecks memory = new MemoryChecks(group, device);
        TrainingChecks training = new TrainingChecks(group, device);
        Map<String, Callable<String>> checks = new LinkedHashMap<>();
        checks.put("tensors share memory", memory::tensorsShareMemory);
        checks.put("views share memory", memory::viewsShareMemory);
        checks.put("order of the default stream", () -> memory.order(false));
        checks.put("order of another stream", () -> memory.order(true));
        checks.put("memory in use is not reused", memory::memoryInUseIsNotReused);
        checks.put("DistributedDataParallel", () -> training.ranksLearnWhatOneLearns(false));
        checks.put("the same on another stream", () -> training.ranksLearnWhatOneLearns(true));
        checks.put("several backward passes in a step", training::accumulates);
        checks.put("an overflow of one rank", training::anOverflowSkipsTheStep);
        checks.put("Autocast", training::autocast);
        checks.put("TorchCheckpoint", training::checkpoint);
        checks.put("TorchCheckpoint on another stream", training::checkpointOnAnotherStream);
        checks.put("failures in a backward pass", training::failures);
        checks.put("what is not supported", training::refusals);
        return checks;
    }

    /**
     * Runs one rank.
     *
     * @param args the device, the backend, and a regular expression for the names of the checks to
     *     run; the CPU, Gloo and all by default
     */
    public static void main(String[] args) {
        Device device = Device.parse(args.length == 0 ? "cpu" : args[0]);
        String backend = args.length < 2 ? "gloo" : args[1];
        String wanted = args.length < 3 ? "" : args[2];
        TorchLibrary.load();
        torch.set_num_threads(1);
        torch.globalContext().setAllowTF32CuDNN(false); // so that results can be compared
        int failed = 0;
        ScheduledExecutorService deadlines = Executors.newSingleThreadScheduledExecutor();
        try (ProcessGroup world =
                ProcessGroup.builder()
                        .backend(backend)
                        .device(device)
                        .timeout(OPERATION_TIMEOUT)
                        .build()) {
            if (world.rank() == 0) {
                System.out.println(device + ", " + backend + ", " + world.size() + " ranks");
                if (!device.isCpu()) {
                    System.out.printf(
                            "CUDA %d, cuDNN %d%n", Context.versionCUDART(), Context.versionCuDNN());
                }
            }
            for (String name : of(world, device).keySet()) {
                if (name.matches(".*" + wanted + ".*")) {
                    ScheduledFuture<?> deadline =
                            deadlines.schedule(
                                    () -> stop(world.rank(), name),
                                    CHECK_TIMEOUT.toSeconds(),
                                    TimeUnit.SECONDS);
                    failed += passes(world, device, name) ? 0 : 1;
                    deadline.cancel(false);
                }
            }
            if (world.rank() == 0) {
                System.out.println(failed == 0 ? "PASSED" : "FAILED: " + failed);
            }
        } finally {
            deadlines.shutdownNow();
        }
        System.exit(failed == 0 ? 0 : 1);
    }

    /** In a group of its own, because the group of a check that failed is of no use afterwards. */
    private static boolean passes(ProcessGroup world, Device device, String name) {
        long begin = System.nanoTime();
        String found;
        boolean passed = false;
        ProcessGroup group = world.split(0, world.rank()).orElseThrow();
        try {
            found = of(group, device).get(name).call();
            passed = true;
            group.close();
        } catch (Exception | Error e) {
            found = e.toString();
            e.printStackTrace();
            group.abort();
        }
        boolean passedOnAll = DeviceChecks.largest(world, passed ? 0 : 1) == 0;
        if (world.rank() == 0 || !passed) {
            System.out.printf(
                    Locale.ROOT,
                    "%s: %s (%.1f s): %s%n",
                    name,
                    passedOnAll ? "passed" : passed ? "FAILED on another rank" : "FAILED",
                    (System.nanoTime() - begin) / 1e9,
                    found);
        }
        return passedOnAll;
    }

    private static void stop(int rank, String name) {
        System.out.println(name + ": FAILED: rank " + rank + " hangs");
        Thread.getAllStackTraces()
                .forEach(
                        (thread, frames) -> {
                            System.out.println(thread);
                            for (StackTraceElement frame : frames) {
                                System.out.println("    at " + frame);
                            }
                        });
        System.out.flush();
        Runtime.getRuntime().halt(3);
    }
}
