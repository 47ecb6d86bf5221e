package org.jccl.soak;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A library with a way to start its ranks. Devices are mocks, one a rank. */
enum Backend {
    GLOO("gloo", "cpu", new Traits(true, true, false)),
    OPEN_MPI("mpi", "cpu", new Traits(true, true, false)),
    MPICH("mpi", "cpu", new Traits(true, true, false)),
    NCCL("nccl", "cuda", new Traits(false, false, true)),
    HCCL("hccl", "npu", new Traits(false, false, true)),
    SCCL("sccl", "tpu", new Traits(false, false, true));

    private final String library;
    private final String deviceType;
    private final Traits traits;

    Backend(String library, String deviceType, Traits traits) {
        this.library = library;
        this.deviceType = deviceType;
        this.traits = traits;
    }

    /** Name that the API knows it by. */
    String library() {
        return library;
    }

    String deviceType() {
        return deviceType;
    }

    Traits traits() {
        return traits;
    }

    /** Whether all processes are one job, which ends when one of them is lost. */
    boolean isOneJob() {
        return this == OPEN_MPI || this == MPICH;
    }

    /** Whether the virtual machine may report misuse of JNI; that of JNA is not ours. */
    boolean checksJni() {
        return this != HCCL && this != SCCL;
    }

    /** Whether what is stuck in the library can be aborted; if not, a process has one failure. */
    boolean aborts() {
        return this != SCCL;
    }

    /** The variable that tells a process its number in the job. */
    String rankVariable() {
        return this == OPEN_MPI ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK";
    }

    /** What starts all processes of a job; nothing where each is started by itself. */
    List<String> launcher(int processes) {
        List<String> command = new ArrayList<>();
        if (this == OPEN_MPI) {
            command.addAll(
                    List.of(
                            "mpirun.openmpi",
                            "--allow-run-as-root",
                            "--oversubscribe",
                            "--bind-to",
                            "none"));
        } else if (this == MPICH) {
            command.add("mpirun.mpich");
        }
        if (isOneJob()) {
            command.addAll(List.of("-n", Integer.toString(processes)));
        }
        return command;
    }

    /** System properties that lead to the mocks, which the binding's build leaves there. */
    Map<String, String> properties(Path root) {
        Path built = root.resolve(library + "-binding/target");
        Path mocks = built.resolve("mock");
        return switch (this) {
            case NCCL ->
                    Map.of(
                            "org.jccl.nccl.driver", mocks.resolve("libcuda.so.1").toString(),
                            "org.jccl.nccl.cudart", mocks.resolve("libcudart.so.13").toString(),
                            "org.jccl.nccl.library", mocks.resolve("libnccl.so.2").toString(),
                            // Where no program finds the mocks that wants the real ones.
                            "org.bytedeco.javacpp.cachedir", built.resolve("javacpp").toString());
            case HCCL ->
                    Map.of(
                            "org.jccl.hccl.acl", mocks.resolve("libascendcl.so").toString(),
                            "org.jccl.hccl.library", mocks.resolve("libhccl.so").toString());
            case SCCL -> {
                Path wheel = mocks.resolve("torch_tpu/lib");
                yield Map.of(
                        "org.jccl.sccl.tpudnn", wheel.resolve("libtpudnn.sg2260.so").toString(),
                        "org.jccl.sccl.tpurt", wheel.resolve("libtpurt.sg2260.so").toString(),
                        "org.jccl.sccl.library", wheel.resolve("libsccl.so").toString(),
                        // Any file is a kernel module to the mock.
                        "org.jccl.sccl.module", wheel.resolve("libsccl.so").toString());
            }
            default -> Map.of();
        };
    }

    /** Variables of the mocks. */
    Map<String, String> environment() {
        if (deviceType.equals("cpu")) {
            return Map.of();
        }
        // A communicator of HCCL takes 400 MB of its device.
        String memory = this == HCCL ? "8192" : "256";
        return Map.of("MOCK_DEVICES", "8", "MOCK_MEMORY_MB", memory, "MOCK_DELAY_US", "50");
    }
}
