package org.jccl.launch;

import java.util.Map;

/**
 * Gives ranks the environment that this JVM was started in. The {@code jccl} script moves the
 * signal with which this JVM suspends threads, SIGUSR2, out of the way, by a variable that only
 * this JVM is to see.
 */
final class JvmSignals {

    private static final String VARIABLE = "_JAVA_SR_SIGNUM";

    /** Has the value that the script gave to the variable. */
    private static final String PROPERTY = "jccl.sr.signum";

    private JvmSignals() {}

    static void restore(Map<String, String> environment) {
        String own = System.getProperty(PROPERTY);
        if (own != null) {
            environment.remove(VARIABLE, own);
        }
    }
}
