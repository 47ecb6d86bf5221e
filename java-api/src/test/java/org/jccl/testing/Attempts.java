package org.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Map;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;

/**
 * The same call several times, of which a library fails one. Each rank prints what failed and goes
 * on, so that later calls say what they know of it. It runs in a {@link ChildJvm}, which ends well.
 */
public final class Attempts {

    /** How often each rank calls. */
    public static final int TIMES = 3;

    private Attempts() {}

    /**
     * Calls on one rank.
     *
     * @param group the rank's group
     * @param call what the rank does
     */
    public static void print(ProcessGroup group, Runnable call) {
        for (int i = 0; i < TIMES; i++) {
            try {
                call.run();
            } catch (JcclException e) {
                System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }
        System.out.println("rank " + group.rank() + " is through");
    }

    /**
     * Runs a class that has two ranks print their attempts.
     *
     * @param main has a main method
     * @param environment variables that are added
     * @param arguments of the JVM
     * @return what the ranks printed
     * @throws IOException if it did not start
     * @throws InterruptedException if the test's time is over
     */
    public static String of(Class<?> main, Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        String output = ChildJvm.outputOf(main, environment, arguments);
        assertThat(output).contains("rank 0 is through", "rank 1 is through");
        return output;
    }
}
