package org.jccl;

/** Options of one backend. Each binding has its own record of them. */
public interface BackendOptions {

    /**
     * The backend these options are for.
     *
     * @return its name, as in {@code ProcessGroup.init}
     */
    String backend();

    /**
     * Whether the communication stream goes before other streams of its device.
     *
     * @return false unless the binding's options say so; no meaning on the CPU
     */
    default boolean highPriorityStream() {
        return false;
    }
}
