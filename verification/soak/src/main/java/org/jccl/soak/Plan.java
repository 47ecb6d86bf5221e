package org.jccl.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.Work;

/**
 * What one rank of a world does: steps that all ranks derive from one seed, each on a group that is
 * there by then. How a rank waits is its own choice.
 */
final class Plan implements AutoCloseable {

    private static final int MOST_GROUPS = 5;
    private static final int MOST_WAITING = 12;

    /** An operation that was issued. */
    private record Issued(Member member, Call call, List<Work> works) {}

    private final Device device;
    private final Traits traits;
    private final long seed;
    private final Duration timeout;
    private final boolean late;
    private final boolean asynchronous;
    private final Report report;
    private final Random own;
    private final Member world;
    private final List<Member> members = new ArrayList<>();
    private final List<Issued> waiting = new ArrayList<>();

    Plan(
            ProcessGroup world,
            Device device,
            Traits traits,
            long seed,
            Duration timeout,
            boolean late,
            boolean asynchronous,
            Report report) {
        this.device = device;
        this.traits = traits;
        this.seed = seed;
        this.timeout = timeout;
        this.late = late;
        this.asynchronous = asynchronous;
        this.report = report;
        this.own = new Random(Values.mix(seed, world.rank(), -1));
        this.world =
                new Member(
                        IntStream.range(0, world.size()).boxed().toList(),
                        Optional.of(world),
                        null);
        members.add(this.world);
    }

    /** Runs the steps and waits for what they issued. */
    void run(int steps) throws StepFailure {
        for (int i = 0; i < steps; i++) {
            if (late && own.nextInt(60) == 0) {
                pause(own.nextInt(200));
            }
            step(i);
            while (!waiting.isEmpty() && (waiting.size() > MOST_WAITING || own.nextInt(3) == 0)) {
                settle(waiting.remove(own.nextInt(waiting.size())));
            }
        }
        settleAll(world);
    }

    private void step(int index) throws StepFailure {
        long step = Values.mix(seed, index);
        Random draw = new Random(step);
        Member member = members.get(draw.nextInt(members.size()));
        int kind = draw.nextInt(100);
        if (kind < 3) {
            makeGroup(draw, member);
        } else if (kind < 6 && member != world && isLeaf(member)) {
            settleAll(member);
            members.remove(member);
            member.group().ifPresent(ProcessGroup::close);
        } else if (kind < 7 && traits.tags() && member.group().isPresent()) {
            inStep(
                    member,
                    "monitoredBarrier",
                    () -> member.group().get().monitoredBarrier(timeout, true));
        } else if (kind < 9 && traits.tags() && member.ranks().size() > 1) {
            // No other message may have this tag.
            issue(member, calls -> calls.anySource(100 + index), step);
        } else {
            issue(member, Calls::next, step);
        }
    }

    private boolean isLeaf(Member member) {
        return members.stream().noneMatch(each -> each.parent() == member);
    }

    private void makeGroup(Random draw, Member parent) throws StepFailure {
        int size = parent.ranks().size();
        List<Integer> chosen = new ArrayList<>(IntStream.range(0, size).boxed().toList());
        Collections.shuffle(chosen, draw);
        boolean split = draw.nextBoolean();
        List<Integer> members = List.copyOf(chosen.subList(0, 1 + draw.nextInt(size)));
        if (this.members.size() > MOST_GROUPS) {
            return;
        }
        Optional<ProcessGroup> group = Optional.empty();
        if (parent.group().isPresent()) {
            ProcessGroup of = parent.group().get();
            int key = members.indexOf(of.rank());
            try {
                group = split ? of.split(key < 0 ? -1 : 0, key) : of.newGroup(members);
            } catch (UsageException e) {
                // As for any other call on a group that this rank has closed itself.
                throw e;
            } catch (JcclException e) {
                // The message is about ranks of the group that it names.
                boolean inParent = e.context().group().equals(of.name());
                throw new StepFailure(
                        (inParent ? parent : made(members, parent, group)).ranks(),
                        (split ? "split " : "newGroup ") + members,
                        e);
            }
        }
        this.members.add(made(members, parent, group));
    }

    private static Member made(List<Integer> ranks, Member parent, Optional<ProcessGroup> group) {
        return new Member(ranks.stream().map(parent.ranks()::get).toList(), group, parent);
    }

    private interface Maker {
        Call make(Calls calls);
    }

    private void issue(Member member, Maker maker, long step) throws StepFailure {
        if (member.group().isEmpty()) {
            return;
        }
        Calls calls = new Calls(member.group().get(), device, traits, step);
        List<Call> made = new ArrayList<>();
        inStep(member, "making a call", () -> made.add(maker.make(calls)));
        Call call = made.get(0);
        report.operation(call.blocks());
        int way = own.nextInt(10);
        System.out.println(member.ranks() + " way " + way + " " + call.what());
        try {
            if (way < 3 && !asynchronous) {
                inStep(member, call.what(), call.synchronous());
                check(new Issued(member, call, List.of()));
                return;
            }
            List<Work> works = new ArrayList<>();
            inStep(member, call.what(), () -> works.addAll(call.asynchronous().get()));
            Issued issued = new Issued(member, call, works);
            if (way < 6) {
                waiting.add(issued);
            } else if (way < 7) {
                // The memory lives until the work is done; nobody can look at it then.
                call.blocks().forEach(Block::close);
                waiting.add(
                        new Issued(member, new Call(call.what(), List.of(), null, null), works));
            } else {
                settle(issued);
            }
        } catch (UsageException e) {
            traits.requireRefusal(e);
            call.blocks().forEach(Block::close);
            report.refused();
        }
    }

    /** Waits for an operation in one of the ways there are. */
    private void settle(Issued issued) throws StepFailure {
        int way = own.nextInt(4);
        inStep(
                issued.member(),
                issued.call().what(),
                () -> {
                    for (Work work : issued.works()) {
                        await(work, way);
                    }
                });
        check(issued);
    }

    private static void await(Work work, int way) {
        switch (way) {
            case 0 -> work.synchronize();
            case 1 -> {
                while (!work.isCompleted()) {
                    Thread.onSpinWait();
                    Thread.yield();
                }
                work.exception()
                        .ifPresent(
                                failure -> {
                                    throw failure;
                                });
            }
            case 2 -> {
                try {
                    work.toFuture().join();
                } catch (CompletionException e) {
                    throw e.getCause() instanceof JcclException failure ? failure : e;
                }
                work.await();
            }
            default -> work.await();
        }
    }

    /** Looks at the data. On devices it is ready only when it can be copied. */
    private void check(Issued issued) throws StepFailure {
        inStep(
                issued.member(),
                issued.call().what() + ", reading",
                () -> {
                    for (Block block : issued.call().blocks()) {
                        block.difference()
                                .ifPresent(
                                        difference ->
                                                report.wrong(
                                                        issued.member().group().orElseThrow()
                                                                + ": "
                                                                + issued.call().what()
                                                                + ": "
                                                                + difference));
                    }
                });
        issued.call().blocks().forEach(Block::close);
    }

    private void settleAll(Member member) throws StepFailure {
        List<Issued> those =
                new ArrayList<>(
                        waiting.stream()
                                .filter(each -> member == world || each.member() == member)
                                .toList());
        Collections.shuffle(those, own);
        waiting.removeAll(those);
        for (Issued each : those) {
            settle(each);
        }
    }

    private static void inStep(Member member, String what, Runnable body) throws StepFailure {
        try {
            body.run();
        } catch (UsageException e) {
            throw e;
        } catch (JcclException e) {
            throw new StepFailure(member.ranks(), what, e);
        }
    }

    /** After a failure: what was issued and succeeded all the same must have the right data. */
    void checkWhatSucceeded() {
        for (Issued issued : waiting) {
            try {
                settle(issued);
            } catch (StepFailure e) {
                issued.call().blocks().forEach(Block::close);
            }
        }
        waiting.clear();
    }

    private static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Closes the groups, each before the one it was made from. */
    @Override
    public void close() {
        for (int i = members.size() - 1; i >= 0; i--) {
            members.get(i).group().ifPresent(ProcessGroup::close);
        }
    }
}
