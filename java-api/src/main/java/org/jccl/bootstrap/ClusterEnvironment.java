package org.jccl.bootstrap;

import java.util.Map;

/** Reads one launcher's environment variables. */
public interface ClusterEnvironment {

    /**
     * Name of the launcher.
     *
     * @return for instance {@code torchrun}
     */
    String name();

    /**
     * Whether this launcher started the process. Looks at the variables only this launcher sets, so
     * that a half-set environment is detected here and explained by {@link #read}.
     *
     * @param environment the process's variables
     * @return true when {@link #read} should be used
     */
    boolean detect(Map<String, String> environment);

    /**
     * Reads rank, world size and the rest.
     *
     * @param environment the process's variables
     * @return this process's place
     * @throws org.jccl.BootstrapException when variables are missing, malformed or contradict each
     *     other; the message names them
     */
    Membership read(Map<String, String> environment);
}
