package org.jccl.examples;

import java.time.Duration;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.training.Commit;

/**
 * Training on handwritten digits in which lost ranks are replaced while the others stay:
 *
 * <pre>{@code
 * jccl run --replace --max-restarts 100 -n 4 -- java ... org.jccl.examples.ReplacedRanks 3000
 * }</pre>
 *
 * <p>Kill ranks meanwhile: the others wait for their replacements, and no step is lost.
 */
public final class ReplacedRanks {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private ReplacedRanks() {}

    /**
     * Runs one rank. Exits with 75 if the job should be started again, and 64 if that would not
     * help.
     *
     * @param args the number of steps; then a backend and a device, for instance {@code nccl
     *     cuda:0}, if it is not to be {@code gloo} in host memory
     */
    public static void main(String[] args) {
        String backend = args.length > 1 ? args[1] : "gloo";
        Device device = args.length > 2 ? Device.parse(args[2]) : Device.CPU;
        DigitsReplica replica = new DigitsReplica(device);
        Commit commit = new Commit(replica);
        try {
            commit.run(
                    ProcessGroup.builder().backend(backend).device(device).reconfigurable(1),
                    Long.parseLong(args[0]),
                    PATIENCE,
                    (group, step) -> {
                        if (step % 500 == 0 && group.rank() == 0) {
                            System.out.printf("step %d, ranks %s%n", step, group.worldRanks());
                        }
                        return replica.average(group, step);
                    });
        } catch (JcclException e) {
            e.printStackTrace();
            System.exit(e.exitCode());
        }
        System.exit(Accuracy.print(replica.network(), replica.weights()) ? 0 : 1);
    }
}
