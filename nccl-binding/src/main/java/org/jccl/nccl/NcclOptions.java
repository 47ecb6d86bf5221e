package org.jccl.nccl;

import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.jccl.BackendOptions;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Options of the NCCL backend. Use {@link #builder()} to create them. NCCL chooses the value of an
 * empty option. NCCL's own environment variables take precedence over these options. Forming a
 * group throws a {@link UsageException} if the loaded NCCL is too old for a given option.
 *
 * @param highPriorityStream whether the communication stream has a higher priority than other
 *     streams
 * @param blocking false if an abort must be able to end a connection attempt that exceeds its
 *     deadline. Each operation then costs a thread inside NCCL
 * @param minCtas the minimum number of blocks of the device for a collective, at least 1; requires
 *     {@code maxCtas}
 * @param maxCtas the maximum number of blocks of the device for a collective, not less than {@code
 *     minCtas}
 * @param cgaClusterSize blocks that share an SM cluster, 0 to 8
 * @param networkName name of the network plugin, for instance {@code Socket} or {@code IB}
 * @param trafficClass the traffic class, whose meaning depends on the network. Needs NCCL 2.26
 * @param splitShare whether groups from a split share the resources of their parent. The program
 *     must then not use them at the same time
 * @param communicatorName name of the communicator in NCCL's profiler plugins; if empty, the name
 *     of the group. Needs NCCL 2.27
 * @param ctaPolicy the policy for the number of blocks for collectives. Needs NCCL 2.27
 * @param nvlsCtas blocks of the device for collectives in NVLink switches, at least 1. Needs NCCL
 *     2.27
 * @param collnet whether collectives may run in the switches of the network. Needs NCCL 2.27
 * @param registration the memory that is registered with the communicator
 */
public record NcclOptions(
        boolean highPriorityStream,
        boolean blocking,
        OptionalInt minCtas,
        OptionalInt maxCtas,
        OptionalInt cgaClusterSize,
        Optional<String> networkName,
        OptionalInt trafficClass,
        boolean splitShare,
        Optional<String> communicatorName,
        Optional<CtaPolicy> ctaPolicy,
        OptionalInt nvlsCtas,
        boolean collnet,
        Registration registration)
        implements BackendOptions {

    private static final int LARGEST_CLUSTER = 8;

    /**
     * The policy for the number of blocks of the device that collectives use. The order is that of
     * NCCL's numbers.
     */
    public enum CtaPolicy {
        /** The number that the fastest collective needs. */
        DEFAULT,
        /** Fewer blocks if that costs little speed. */
        EFFICIENCY,
        /**
         * No blocks if copy engines can do the work, which needs {@link NcclMemory} with windows.
         * Needs NCCL 2.28.
         */
        ZERO
    }

    /** The memory of {@link NcclMemory} that is registered with the communicator. */
    public enum Registration {
        /** Tensors that the program passes to {@link org.jccl.ProcessGroup#register}. */
        ON_REQUEST,
        /**
         * All such memory of the device. {@link org.jccl.ProcessGroup#allocate} takes its memory
         * from {@link NcclMemory}.
         */
        AUTOMATIC,
        /**
         * Tensors of {@link org.jccl.ProcessGroup#register} and {@link
         * org.jccl.ProcessGroup#allocate}, as symmetric windows. All ranks must make these calls
         * with tensors of the same size and in the same order. Needs NCCL 2.27.
         */
        WINDOWS
    }

    /**
     * Checks the arguments. Use {@link #builder()}: this constructor changes when an option is
     * added.
     *
     * @param highPriorityStream see the class
     * @param blocking see the class
     * @param minCtas see the class
     * @param maxCtas see the class
     * @param cgaClusterSize see the class
     * @param networkName see the class
     * @param trafficClass see the class
     * @param splitShare see the class
     * @param communicatorName see the class
     * @param ctaPolicy see the class
     * @param nvlsCtas see the class
     * @param collnet see the class
     * @param registration see the class
     * @throws UsageException if an argument is null, a number is out of its range, a name is blank,
     *     or {@code minCtas} is given without {@code maxCtas}
     */
    public NcclOptions {
        if (Stream.of(
                        minCtas,
                        maxCtas,
                        cgaClusterSize,
                        networkName,
                        trafficClass,
                        communicatorName,
                        ctaPolicy,
                        nvlsCtas,
                        registration)
                .anyMatch(Objects::isNull)) {
            throw bad(
                    "an option must not be null; pass an empty Optional to leave it to NCCL",
                    "null");
        }
        checkName(networkName, "networkName");
        checkName(communicatorName, "communicatorName");
        if (minCtas.orElse(1) < 1 || maxCtas.orElse(1) < 1) {
            throw bad("minCtas and maxCtas must be at least 1", minCtas + ", " + maxCtas);
        }
        if (minCtas.isPresent() && maxCtas.isEmpty()) {
            throw bad(
                    "minCtas needs maxCtas too, because NCCL otherwise rejects every minimum as"
                            + " too high",
                    minCtas + ", " + maxCtas);
        }
        if (minCtas.isPresent() && minCtas.getAsInt() > maxCtas.getAsInt()) {
            throw bad("minCtas must not be above maxCtas", minCtas + ", " + maxCtas);
        }
        int cluster = cgaClusterSize.orElse(0);
        if (cluster < 0 || cluster > LARGEST_CLUSTER) {
            throw bad("cgaClusterSize must be from 0 to " + LARGEST_CLUSTER, "" + cluster);
        }
        if (nvlsCtas.orElse(1) < 1) {
            throw bad("nvlsCtas must be at least 1", nvlsCtas.toString());
        }
    }

    /**
     * Returns whether communicators block.
     *
     * @param variable NCCL_COMM_BLOCKING, which takes precedence over the option
     */
    boolean blocks(String variable) {
        return switch (variable.strip()) {
            case "0" -> false;
            case "1" -> true;
            default -> blocking;
        };
    }

    private static void checkName(Optional<String> name, String option) {
        if (name.filter(text -> text.isBlank() || text.indexOf('\0') >= 0).isPresent()) {
            throw bad(option + " must be a name", "'" + name.get() + "'");
        }
    }

    private static UsageException bad(String rule, String given) {
        return new UsageException(FailureContext.NONE, "NCCL options: " + rule + ", got " + given);
    }

    /**
     * Returns the default options: a blocking communicator on a stream of normal priority. NCCL
     * chooses all other values.
     *
     * @return the options
     */
    public static NcclOptions defaults() {
        return builder().build();
    }

    /**
     * Returns a builder that begins with {@link #defaults()}.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public String backend() {
        return NcclProvider.NAME;
    }

    /** Sets options; each is described at {@link NcclOptions}. Not thread-safe. */
    public static final class Builder {

        private boolean highPriorityStream;
        private boolean blocking = true;
        private OptionalInt minCtas = OptionalInt.empty();
        private OptionalInt maxCtas = OptionalInt.empty();
        private OptionalInt cgaClusterSize = OptionalInt.empty();
        private Optional<String> networkName = Optional.empty();
        private OptionalInt trafficClass = OptionalInt.empty();
        private boolean splitShare;
        private Optional<String> communicatorName = Optional.empty();
        private Optional<CtaPolicy> ctaPolicy = Optional.empty();
        private OptionalInt nvlsCtas = OptionalInt.empty();
        private boolean collnet;
        private Registration registration = Registration.ON_REQUEST;

        private Builder() {}

        /**
         * Sets {@code highPriorityStream}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder highPriorityStream(boolean value) {
            highPriorityStream = value;
            return this;
        }

        /**
         * Sets {@code blocking}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder blocking(boolean value) {
            blocking = value;
            return this;
        }

        /**
         * Sets {@code minCtas}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder minCtas(int value) {
            minCtas = OptionalInt.of(value);
            return this;
        }

        /**
         * Sets {@code maxCtas}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder maxCtas(int value) {
            maxCtas = OptionalInt.of(value);
            return this;
        }

        /**
         * Sets {@code cgaClusterSize}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder cgaClusterSize(int value) {
            cgaClusterSize = OptionalInt.of(value);
            return this;
        }

        /**
         * Sets {@code networkName}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder networkName(String value) {
            networkName = Optional.of(value == null ? "" : value);
            return this;
        }

        /**
         * Sets {@code trafficClass}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder trafficClass(int value) {
            trafficClass = OptionalInt.of(value);
            return this;
        }

        /**
         * Sets {@code splitShare}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder splitShare(boolean value) {
            splitShare = value;
            return this;
        }

        /**
         * Sets {@code communicatorName}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder communicatorName(String value) {
            communicatorName = Optional.of(value == null ? "" : value);
            return this;
        }

        /**
         * Sets {@code ctaPolicy}.
         *
         * @param value see {@link NcclOptions}; null lets NCCL choose
         * @return this builder
         */
        public Builder ctaPolicy(CtaPolicy value) {
            ctaPolicy = Optional.ofNullable(value);
            return this;
        }

        /**
         * Sets {@code nvlsCtas}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder nvlsCtas(int value) {
            nvlsCtas = OptionalInt.of(value);
            return this;
        }

        /**
         * Sets {@code collnet}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder collnet(boolean value) {
            collnet = value;
            return this;
        }

        /**
         * Sets {@code registration}.
         *
         * @param value see {@link NcclOptions}
         * @return this builder
         */
        public Builder registration(Registration value) {
            registration = value;
            return this;
        }

        /**
         * Checks the options and returns them.
         *
         * @return the options
         * @throws UsageException if a number is out of its range, a name is null or blank, or the
         *     registration is null
         */
        public NcclOptions build() {
            return new NcclOptions(
                    highPriorityStream,
                    blocking,
                    minCtas,
                    maxCtas,
                    cgaClusterSize,
                    networkName,
                    trafficClass,
                    splitShare,
                    communicatorName,
                    ctaPolicy,
                    nvlsCtas,
                    collnet,
                    registration);
        }
    }
}
