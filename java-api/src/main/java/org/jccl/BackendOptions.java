package org.jccl;

/** Options of one backend. Each binding has its own record. */
public interface BackendOptions {

    /**
     * Returns the backend of these options.
     *
     * @return its name, as in {@code ProcessGroup.init}
     */
    String backend();

    /**
     * Returns whether the communication stream has a higher priority than other streams of its
     * device.
     *
     * @return false unless the options of the binding say so; no effect on the CPU
     */
    default boolean highPriorityStream() {
        return false;
    }
}
