package org.jccl.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jccl.GroupInfo;
import org.jccl.GroupListener;
import org.jccl.JcclException;
import org.jccl.OperationInfo;
import org.jccl.OperationTime;

/**
 * Meters of process groups in a registry of Micrometer. Pass it to {@code
 * ProcessGroup.builder().listener(new JcclMetrics(registry))}. Several worlds may share it; their
 * numbers add up.
 *
 * <table>
 * <caption>Meters</caption>
 * <tr><th>name</th><th>kind</th><th>tags besides {@code backend} and {@code group}</th></tr>
 * <tr><td>{@code jccl.operation}</td><td>timer of operations that ended, from the call of the
 *     library until their end was detected</td><td>{@code operation}; {@code exception}, the
 *     class of the failure or {@code none}</td></tr>
 * <tr><td>{@code jccl.operation.device}</td><td>timer of the device's own time, if it is
 *     known</td><td>{@code operation}</td></tr>
 * <tr><td>{@code jccl.operation.bytes}</td><td>summary of the sizes of operations that completed
 *     </td><td>{@code operation}</td></tr>
 * <tr><td>{@code jccl.operation.stalled}</td><td>counter of operations that ran for longer than the
 *     threshold</td><td>{@code operation}</td></tr>
 * <tr><td>{@code jccl.operation.outstanding}</td><td>gauge of operations that have started and not
 *     ended</td><td></td></tr>
 * <tr><td>{@code jccl.group.creation}</td><td>timer of forming groups</td><td></td></tr>
 * <tr><td>{@code jccl.group.open}</td><td>gauge of groups that are not closed</td><td></td></tr>
 * <tr><td>{@code jccl.group.failed}</td><td>counter of groups that failed</td><td>{@code
 *     exception}</td></tr>
 * <tr><td>{@code jccl.operation.missed}</td><td>counter of operations that are missing above
 *     because the registry was too slow</td><td>none, not even {@code backend} and {@code group}</td></tr>
 * </table>
 *
 * <p>A program may make any number of groups with different names, and a registry never removes a
 * meter. So the tag {@code group} is {@code world} or {@code subgroup}, unless a function returns
 * another value. Only its first 32 values are used; further ones become {@code other}. There is no
 * tag for the rank, because a process usually is one rank and the scraper knows the process.
 * Otherwise, pass a tag to the constructor.
 *
 * <p>Safe for use by several threads.
 */
public final class JcclMetrics implements GroupListener {

    private static final int MOST_GROUP_TAGS = 32;
    private static final String NONE = "none";

    private final MeterRegistry registry;
    private final Tags common;
    private final Function<? super GroupInfo, String> groupTag;
    private final Duration stallThreshold;

    /** By the object of a group, which is the same in all of its events. */
    private final Map<GroupInfo, Group> groups =
            Collections.synchronizedMap(new IdentityHashMap<>());

    /** By the tags they share; never more than tags. */
    private final Map<Tags, Shared> shared = new ConcurrentHashMap<>();

    private final Map<String, Boolean> groupTags = new ConcurrentHashMap<>();
    private final Counter missed;

    /** What groups with the same tags have in common. */
    private static final class Shared {
        private final AtomicLong outstanding = new AtomicLong();
        private final AtomicLong open = new AtomicLong();
        private final Map<String, Timer> timers = new ConcurrentHashMap<>();
        private final Map<String, Timer> deviceTimers = new ConcurrentHashMap<>();
        private final Map<String, DistributionSummary> sizes = new ConcurrentHashMap<>();
    }

    private static final class Group {
        private final Tags tags;
        private final Shared shared;

        /** Counted by the world's one thread of listeners. */
        private long outstanding;

        Group(Tags tags, Shared shared) {
            this.tags = tags;
            this.shared = shared;
        }
    }

    /**
     * Meters with the tags {@code world} and {@code subgroup} for groups.
     *
     * @param registry the registry of the meters
     * @throws NullPointerException if it is null
     */
    public JcclMetrics(MeterRegistry registry) {
        this(registry, Tags.empty(), JcclMetrics::kindOf, Duration.ofSeconds(10));
    }

    /**
     * Meters with other tags.
     *
     * @param registry the registry of the meters
     * @param tags added to each meter
     * @param groupTag the tag {@code group} of a group, for instance its name if a program makes
     *     few groups; null means {@code other}
     * @param stallThreshold the time after which an operation counts as stalled
     * @throws NullPointerException if an argument is null
     */
    public JcclMetrics(
            MeterRegistry registry,
            Iterable<Tag> tags,
            Function<? super GroupInfo, String> groupTag,
            Duration stallThreshold) {
        this.registry = Objects.requireNonNull(registry, "registry");
        this.common = Tags.of(Objects.requireNonNull(tags, "tags"));
        this.groupTag = Objects.requireNonNull(groupTag, "groupTag");
        this.stallThreshold = Objects.requireNonNull(stallThreshold, "stallThreshold");
        this.missed =
                Counter.builder("jccl.operation.missed")
                        .description("Operations that no other meter counts")
                        .tags(common)
                        .register(registry);
    }

    private static String kindOf(GroupInfo group) {
        return group.name().equals("world") ? "world" : "subgroup";
    }

    @Override
    public Duration stallThreshold() {
        return stallThreshold;
    }

    @Override
    public void groupMade(GroupInfo info, Duration took) {
        Tags tags = common.and("backend", info.backend(), "group", boundedTag(info));
        Group group = new Group(tags, shared.computeIfAbsent(tags, this::register));
        groups.put(info, group);
        group.shared.open.incrementAndGet();
        Timer.builder("jccl.group.creation")
                .description("Time to form a group, including the arrival of all ranks")
                .tags(tags)
                .register(registry)
                .record(took);
    }

    private String boundedTag(GroupInfo info) {
        String tag = groupTag.apply(info);
        if (tag == null) {
            return "other";
        }
        if (!groupTags.containsKey(tag)) {
            synchronized (groupTags) {
                if (groupTags.size() == MOST_GROUP_TAGS && !groupTags.containsKey(tag)) {
                    return "other";
                }
                groupTags.put(tag, true);
            }
        }
        return tag;
    }

    private Shared register(Tags tags) {
        Shared made = new Shared();
        Gauge.builder("jccl.operation.outstanding", made.outstanding, AtomicLong::get)
                .description("Operations that have started and not ended")
                .tags(tags)
                .register(registry);
        Gauge.builder("jccl.group.open", made.open, AtomicLong::get)
                .description("Groups that are not closed")
                .tags(tags)
                .register(registry);
        return made;
    }

    @Override
    public void operationStarted(OperationInfo operation) {
        Group group = groups.get(operation.group());
        group.outstanding++;
        group.shared.outstanding.incrementAndGet();
    }

    @Override
    public void operationCompleted(OperationInfo operation, OperationTime time) {
        Group group = ended(operation, time, NONE);
        String name = operation.name();
        time.onDevice()
                .ifPresent(
                        onDevice ->
                                group.shared
                                        .deviceTimers
                                        .computeIfAbsent(name, each -> deviceTimer(group, each))
                                        .record(onDevice));
        group.shared
                .sizes
                .computeIfAbsent(name, each -> size(group, each))
                .record(operation.bytes());
    }

    @Override
    public void operationFailed(OperationInfo operation, OperationTime time, JcclException cause) {
        ended(operation, time, cause.getClass().getSimpleName());
    }

    private Group ended(OperationInfo operation, OperationTime time, String exception) {
        Group group = groups.get(operation.group());
        group.outstanding--;
        group.shared.outstanding.decrementAndGet();
        String name = operation.name();
        Timer timer =
                exception.equals(NONE)
                        ? group.shared.timers.computeIfAbsent(
                                name, each -> timer(group, each, NONE))
                        : timer(group, name, exception);
        timer.record(time.elapsed());
        return group;
    }

    private Timer timer(Group group, String operation, String exception) {
        return Timer.builder("jccl.operation")
                .description("Time of an operation, including the wait for other ranks")
                .tags(group.tags.and("operation", operation, "exception", exception))
                .register(registry);
    }

    private Timer deviceTimer(Group group, String operation) {
        return Timer.builder("jccl.operation.device")
                .description("Time between the device's events before and after an operation")
                .tags(group.tags.and("operation", operation))
                .register(registry);
    }

    private DistributionSummary size(Group group, String operation) {
        return DistributionSummary.builder("jccl.operation.bytes")
                .description("Size of this rank's tensor, the larger one of input and output")
                .baseUnit("bytes")
                .tags(group.tags.and("operation", operation))
                .register(registry);
    }

    @Override
    public void operationStalled(OperationInfo operation, Duration soFar) {
        Counter.builder("jccl.operation.stalled")
                .description("Operations that ran for longer than the threshold")
                .tags(groups.get(operation.group()).tags.and("operation", operation.name()))
                .register(registry)
                .increment();
    }

    @Override
    public void operationsMissed(long count) {
        missed.increment(count);
    }

    @Override
    public void groupFailed(GroupInfo info, JcclException cause) {
        Counter.builder("jccl.group.failed")
                .description("Groups that failed")
                .tags(groups.get(info).tags.and("exception", cause.getClass().getSimpleName()))
                .register(registry)
                .increment();
    }

    @Override
    public void groupClosed(GroupInfo info) {
        Group group = groups.remove(info);
        group.shared.open.decrementAndGet();
        // There are no further events of operations that never left the library.
        group.shared.outstanding.addAndGet(-group.outstanding);
    }
}
