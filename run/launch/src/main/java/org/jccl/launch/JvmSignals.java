package org.jccl.launch;

import java.util.Map;

/**
 * Restores for ranks the environment that the {@code jccl} script changed for this JVM. This JVM
 * must not use SIGUSR2 to suspend threads, so the script sets a variable that selects another
 * signal.
 */
final class JvmSignals {

    private static final String VARIABLE = "_JAVA_SR_SIGNUM";

    /** The system property with the value that the script gave to the variable. */
    private static final String PROPERTY = "jccl.sr.signum";

    private JvmSignals() {}

    static void restore(Map<String, String> environment) {
        String own = System.getProperty(PROPERTY);
        if (own != null) {
            environment.remove(VARIABLE, own);
        }
    }
}
