package org.jccl;

/** Options of one backend. Each binding has its own record of them. */
public interface BackendOptions {

    /**
     * The backend these options are for.
     *
     * @return its name, as in {@code ProcessGroup.init}
     */
    String backend();
}
