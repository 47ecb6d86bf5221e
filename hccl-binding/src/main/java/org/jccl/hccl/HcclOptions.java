package org.jccl.hccl;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.jccl.BackendOptions;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.Durations;

/**
 * Options of the HCCL backend. Use {@link #builder()} to create them. If an option is empty, HCCL
 * reads its environment variable. A given option takes precedence over the variable. All ranks must
 * give the same options, except the path of the rank table.
 *
 * @param rankTable the file with the devices of all ranks of the world. If it is empty, {@code
 *     RANK_TABLE_FILE} names it; without that variable the ranks find each other through the store
 * @param bufferMegabytes the size of each of the two buffers that a communicator has on its device,
 *     at least 1. If it is empty, the size is {@code HCCL_BUFFSIZE}, or else 200
 * @param subGroupBufferMegabytes the size of the buffers of a group that is made from another
 *     group. If it is empty, the size is {@code bufferMegabytes}, else {@code HCCL_BUFFSIZE}, else
 *     50
 * @param determinism whether results have the same bits in each run
 * @param expansion the place where operations are converted to tasks
 * @param trafficClass the traffic class of the RDMA network, 0 to 252 in steps of 4
 * @param serviceLevel the service level of the RDMA network, 0 to 7
 * @param executionTimeout the time that a device waits for its peers, in whole seconds; 0 means no
 *     limit; without effect on Ascend 950
 * @param algorithm a value of {@code HCCL_ALGO}, at most 1599 characters; without effect on Ascend
 *     950
 */
public record HcclOptions(
        Optional<Path> rankTable,
        OptionalInt bufferMegabytes,
        OptionalInt subGroupBufferMegabytes,
        Optional<Determinism> determinism,
        Optional<Expansion> expansion,
        OptionalInt trafficClass,
        OptionalInt serviceLevel,
        Optional<Duration> executionTimeout,
        Optional<String> algorithm)
        implements BackendOptions {

    private static final int LARGEST_TRAFFIC_CLASS = 252;
    private static final int TRAFFIC_CLASS_STEP = 4;
    private static final int LARGEST_SERVICE_LEVEL = 7;
    private static final int LONGEST_ALGORITHM = 1599;

    /**
     * The policy for the order of additions. The order of the constants is that of HCCL's numbers.
     */
    public enum Determinism {
        /** The fastest order of additions. */
        OFF,
        /** One order of additions. */
        ON,
        /** One order of additions that keeps more bits; Atlas A2 only. */
        STRICT
    }

    /** The place where operations are converted to tasks. The order is that of HCCL's numbers. */
    public enum Expansion {
        /** The default of the device. */
        DEFAULT,
        /** On the host; Ascend 950 does not. */
        HOST,
        /** On the AI CPU of the device. */
        AI_CPU,
        /** The vector cores of the device, if they support the operation. */
        AIV,
        /** The vector cores of the device only. */
        AIV_ONLY,
        /** The collective unit, with memory semantics; Ascend 950 only. */
        CCU_MS,
        /** The collective unit, scheduled; Ascend 950 only. */
        CCU_SCHED
    }

    /**
     * Checks the arguments. Use {@link #builder()}: this constructor changes when an option is
     * added.
     *
     * @param rankTable see the class
     * @param bufferMegabytes see the class
     * @param subGroupBufferMegabytes see the class
     * @param determinism see the class
     * @param expansion see the class
     * @param trafficClass see the class
     * @param serviceLevel see the class
     * @param executionTimeout see the class
     * @param algorithm see the class
     * @throws UsageException if an argument is null, or a number is out of its range
     */
    public HcclOptions {
        if (Stream.of(
                        rankTable,
                        bufferMegabytes,
                        subGroupBufferMegabytes,
                        determinism,
                        expansion,
                        trafficClass,
                        serviceLevel,
                        executionTimeout,
                        algorithm)
                .anyMatch(Objects::isNull)) {
            throw bad(
                    "an option must not be null; pass an empty Optional to leave it to HCCL", null);
        }
        if (bufferMegabytes.orElse(1) < 1) {
            throw bad("bufferMegabytes must be at least 1", bufferMegabytes.getAsInt());
        }
        if (subGroupBufferMegabytes.orElse(1) < 1) {
            throw bad(
                    "subGroupBufferMegabytes must be at least 1",
                    subGroupBufferMegabytes.getAsInt());
        }
        int traffic = trafficClass.orElse(0);
        if (traffic < 0 || traffic > LARGEST_TRAFFIC_CLASS || traffic % TRAFFIC_CLASS_STEP != 0) {
            throw bad("trafficClass must be from 0 to 252 in steps of 4", traffic);
        }
        int service = serviceLevel.orElse(0);
        if (service < 0 || service > LARGEST_SERVICE_LEVEL) {
            throw bad("serviceLevel must be from 0 to 7", service);
        }
        Duration execution = executionTimeout.orElse(Duration.ZERO);
        if (execution.isNegative()
                || execution.getNano() != 0
                || execution.getSeconds() > Integer.MAX_VALUE) {
            throw bad(
                    "executionTimeout must be whole seconds, at most 2147483647",
                    Durations.text(execution));
        }
        String words = algorithm.orElse("");
        if (words.length() > LONGEST_ALGORITHM || !words.chars().allMatch(c -> c > 0 && c < 128)) {
            throw bad("algorithm must be at most 1599 ASCII characters", words);
        }
    }

    private static UsageException bad(String rule, Object given) {
        return new UsageException(FailureContext.NONE, "HCCL options: " + rule + ", got " + given);
    }

    /**
     * Returns options that are all empty.
     *
     * @return the options
     */
    public static HcclOptions defaults() {
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
        return HcclProvider.NAME;
    }

    /** Sets options; each is described at {@link HcclOptions}. Not thread-safe. */
    public static final class Builder {

        private Optional<Path> rankTable = Optional.empty();
        private OptionalInt bufferMegabytes = OptionalInt.empty();
        private OptionalInt subGroupBufferMegabytes = OptionalInt.empty();
        private Optional<Determinism> determinism = Optional.empty();
        private Optional<Expansion> expansion = Optional.empty();
        private OptionalInt trafficClass = OptionalInt.empty();
        private OptionalInt serviceLevel = OptionalInt.empty();
        private Optional<Duration> executionTimeout = Optional.empty();
        private Optional<String> algorithm = Optional.empty();

        private Builder() {}

        /**
         * Sets {@code rankTable}.
         *
         * @param value see {@link HcclOptions}; null leaves it empty
         * @return this builder
         */
        public Builder rankTable(Path value) {
            rankTable = Optional.ofNullable(value);
            return this;
        }

        /**
         * Sets {@code bufferMegabytes}.
         *
         * @param value see {@link HcclOptions}
         * @return this builder
         */
        public Builder bufferMegabytes(int value) {
            bufferMegabytes = OptionalInt.of(value);
            return this;
        }

        /**
         * Sets {@code subGroupBufferMegabytes}.
         *
         * @param value see {@link HcclOptions}
         * @return this builder
         */
        public Builder subGroupBufferMegabytes(int value) {
            subGroupBufferMegabytes = OptionalInt.of(value);
            return this;
        }

        /**
         * Sets {@code determinism}.
         *
         * @param value see {@link HcclOptions}; null leaves it empty
         * @return this builder
         */
        public Builder determinism(Determinism value) {
            determinism = Optional.ofNullable(value);
            return this;
        }

        /**
         * Sets {@code expansion}.
         *
         * @param value see {@link HcclOptions}; null leaves it empty
         * @return this builder
         */
        public Builder expansion(Expansion value) {
            expansion = Optional.ofNullable(value);
            return this;
        }

        /**
         * Sets {@code trafficClass}.
         *
         * @param value see {@link HcclOptions}
         * @return this builder
         */
        public Builder trafficClass(int value) {
            trafficClass = OptionalInt.of(value);
            return this;
        }

        /**
         * Sets {@code serviceLevel}.
         *
         * @param value see {@link HcclOptions}
         * @return this builder
         */
        public Builder serviceLevel(int value) {
            serviceLevel = OptionalInt.of(value);
            return this;
        }

        /**
         * Sets {@code executionTimeout}.
         *
         * @param value see {@link HcclOptions}; null leaves it empty
         * @return this builder
         */
        public Builder executionTimeout(Duration value) {
            executionTimeout = Optional.ofNullable(value);
            return this;
        }

        /**
         * Sets {@code algorithm}.
         *
         * @param value see {@link HcclOptions}; null leaves it empty
         * @return this builder
         */
        public Builder algorithm(String value) {
            algorithm = Optional.ofNullable(value);
            return this;
        }

        /**
         * Checks the options and returns them.
         *
         * @return the options
         * @throws UsageException if an option is out of its range
         */
        public HcclOptions build() {
            return new HcclOptions(
                    rankTable,
                    bufferMegabytes,
                    subGroupBufferMegabytes,
                    determinism,
                    expansion,
                    trafficClass,
                    serviceLevel,
                    executionTimeout,
                    algorithm);
        }
    }
}
