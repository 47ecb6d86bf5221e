package org.jccl.mpi;

import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.spi.BackendProvider.World;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;
import org.jccl.store.HashStore;
import org.jccl.testing.StuckCalls;

/** One rank of a job; the first argument says what it does. It prints what a test looks for. */
final class JobMain {

    private static final int MANY = 100_000;

    private static final int LONG = 1_000_000;

    private static final int OVERLAPPED = 4_000_000;

    /** Elements of the calls that never return. */
    static final int STUCK = 77;

    private JobMain() {}

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "sum" -> sum(MpiOptions.defaults());
            case "mixed" -> waitOnOneRankOnly();
            case "shared" -> shareTheWorld();
            case "sharedAlone" -> waitInASharedWorld();
            case "library" -> print("library " + new MpiProvider().availability());
            case "null" -> dereferenceNull();
            case "truncated" -> truncate();
            case "endless" -> receiveMoreThanThereIsMemory();
            case "killed" -> die();
            case "threads" -> joinTwice();
            case "counts" -> disagreeAboutCounts(Integer.parseInt(arguments[1]));
            case "overlap" -> overlap();
            case "computing" -> computeAfterReceiving(Path.of(arguments[1]));
            case "waiting" -> waitForLong();
            case "asynchronous" -> issueWithoutWaiting(MpiOptions.defaults());
            case "trusted" -> issueWithoutWaiting(MpiOptions.defaults().withTrustedSizes());
            case "root" -> disagreeAboutTheRoot();
            case "reduction" -> disagreeAboutTheReduction();
            case "skipped" -> skipABroadcast();
            case "skippedBeforeLong" -> skipACallBeforeALongOne();
            case "abandoned" -> abandonACollective();
            case "unreceived" -> closeWithAMessageUnderWay();
            case "unmade" -> makeGroupsInVain(Integer.parseInt(arguments[1]));
            case "regrouped" -> makeGroupsInTurn(20);
            case "forming" -> exitWhileAGroupIsMade();
            case "late" -> makeAGroupLate();
            case "stuck" -> getStuck(arguments[1]);
            case "left" -> leaveACallThatBlocks();
            case "deadline" -> waitSynchronously(MpiOptions.defaults());
            case "checkedDeadline" -> waitSynchronously(MpiOptions.defaults().withChecks());
            case "otherFailure" -> failWhileAThreadIsInside();
            case "ends" -> endWithoutClosing(arguments[1]);
            case "receives" -> waitInACollectiveBeforeAReceive();
            case "order" -> mixFormsOfOneOrder();
            case "progress" -> sum(MpiOptions.defaults().withProgressThread());
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** A call of rank 0 never returns. */
    private static void getStuck(String method) throws InterruptedException {
        boolean sends = method.equals("send");
        ProcessGroup group = join(MpiOptions.defaults(), expires(Duration.ofSeconds(3)));
        if (group.rank() == 0) {
            Tensor stuck = floats(STUCK);
            StuckCalls.run(
                    group,
                    floats(1),
                    method,
                    () -> {
                        if (sends) {
                            group.send(stuck, 1);
                        } else {
                            group.allReduce(stuck, ReduceOp.SUM).await();
                        }
                    },
                    // Beside a stuck send, it would be inside the library and end the job.
                    !sends);
        }
        // At its exit rank 0 ends the job, since MPI still has an operation.
    }

    /** A call of the library never returns on either rank, and its work ends at its deadline. */
    private static void leaveACallThatBlocks() {
        ProcessGroup group = join(MpiOptions.defaults(), expires(Duration.ofSeconds(3)));
        Tensor stuck = floats(STUCK);
        String rank = "rank " + group.rank() + ", ";
        print(rank + "call: " + end(() -> group.allReduce(stuck, ReduceOp.SUM).await()));
        print(rank + "later: " + end(() -> group.sync().barrier()));
        print(rank + "other: " + end(() -> group.allReduce(floats(1), ReduceOp.SUM).await()));
        stuck.close();
        print(rank + "abort: " + end(group::abort));
        print(rank + "close: " + end(group::close));
        // Both have printed before one of them ends the job.
        LockSupport.parkNanos(expires(Duration.ofSeconds(5)).toNanos());
    }

    /** Rank 1 does not come. With checks the others wait for it where an abort ends that. */
    private static void waitSynchronously(MpiOptions options) {
        ProcessGroup group = join(options, expires(Duration.ofSeconds(3)));
        if (group.rank() == 1) {
            LockSupport.parkNanos(expires(Duration.ofSeconds(120)).toNanos());
        }
        print("call: " + end(() -> group.sync().allReduce(floats(1), ReduceOp.SUM)));
    }

    /** What one thread does must end in a moment what another one waits for. */
    private static void failWhileAThreadIsInside() {
        ProcessGroup group = join(MpiOptions.defaults());
        if (group.rank() == 0) {
            Thread inside = new Thread(() -> group.sync().barrier());
            inside.setDaemon(true);
            inside.start();
            LockSupport.parkNanos(expires(Duration.ofSeconds(1)).toNanos());
            group.abort();
        }
        LockSupport.parkNanos(expires(Duration.ofSeconds(120)).toNanos());
    }

    /** Rank 1 ends in some way, and rank 0 waits for it. */
    private static void endWithoutClosing(String how) {
        ProcessGroup group = join(MpiOptions.defaults());
        group.sync().barrier();
        if (group.rank() == 1) {
            switch (how) {
                case "throw" -> throw new IllegalStateException("the program's own fault");
                case "memory" -> throw new OutOfMemoryError("made up");
                case "halt" -> Runtime.getRuntime().halt(5);
                case "all" -> {}
                default -> System.exit(3);
            }
        }
        if (how.equals("all")) {
            print("rank " + group.rank() + " returns");
            return;
        }
        print("call: " + end(() -> group.sync().barrier()));
    }

    /**
     * Rank 1 sends what rank 0 receives before it calls what rank 0 waits in. Nobody of rank 0 asks
     * for the message.
     */
    private static void waitInACollectiveBeforeAReceive() {
        try (ProcessGroup group = join(MpiOptions.defaults())) {
            for (int i = 0; i < 50; i++) {
                Tensor many = ints(MANY, group.rank() + i);
                Tensor sum = ints(1, 1);
                if (group.rank() == 0) {
                    Work receive = group.recv(many, 1);
                    group.sync().allReduce(sum, ReduceOp.SUM);
                    receive.await();
                } else {
                    group.sync().send(many, 0);
                    group.sync().allReduce(sum, ReduceOp.SUM);
                }
                if (value(many.slice(MANY - 1, 1)) != 1 + i || value(sum) != 2) {
                    print("WRONG");
                }
            }
            print("rank " + group.rank() + " is through");
        }
    }

    /** Synchronous calls come after the works before them, whichever thread makes them. */
    private static void mixFormsOfOneOrder() throws Exception {
        try (ProcessGroup group = join(MpiOptions.defaults())) {
            Tensor value = ints(1, 1);
            for (int i = 0; i < 200; i++) {
                Work first = group.broadcast(ints(1, i), 0);
                Work second = group.allReduce(ints(MANY, 1), ReduceOp.SUM);
                Tensor sent = ints(1, group.rank() == 0 ? i : -1);
                group.sync().broadcast(sent, 0);
                CompletableFuture.allOf(first.toFuture(), second.toFuture()).get();
                if (value(sent) != i) {
                    print("WRONG");
                }
            }
            group.sync().allReduce(value, ReduceOp.SUM);
            print("rank " + group.rank() + ": sum " + value(value));
        }
    }

    private static String end(Runnable call) {
        try {
            call.run();
            return "returned";
        } catch (JcclException e) {
            return e.getClass().getSimpleName() + ": " + e.getMessage();
        }
    }

    private static Tensor floats(int count) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(4 * count).order(ByteOrder.nativeOrder());
        return Tensor.of(bytes.asFloatBuffer());
    }

    private static Tensor ints(int count, int value) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(4 * count).order(ByteOrder.nativeOrder());
        for (int i = 0; i < count; i++) {
            bytes.putInt(4 * i, value);
        }
        return Tensor.of(bytes.asIntBuffer());
    }

    private static ProcessGroup join(MpiOptions options) {
        return builder(options, enough(Duration.ofSeconds(60))).build();
    }

    /** Ranks of a busy machine start far apart, so they meet before the short timeout counts. */
    private static ProcessGroup join(MpiOptions options, Duration timeout) {
        join(options).close();
        return builder(options, timeout).build();
    }

    private static ProcessGroupBuilder builder(MpiOptions options, Duration timeout) {
        return ProcessGroup.builder().backend("mpi").options(options).timeout(timeout);
    }

    private static void print(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void sum(MpiOptions options) {
        try (ProcessGroup group = join(options)) {
            Tensor tensor = ints(1, group.rank() + 1);
            group.sync().allReduce(tensor, ReduceOp.SUM);
            print("rank " + group.rank() + " of " + group.size() + ": sum " + value(tensor));
        }
    }

    /**
     * One rank waits for its calls and the other one for its works, of every kind, short and long.
     * Also reduces in place to each root, with what MPICH 4.0.2's MPI_Reduce crashes with.
     */
    private static void waitOnOneRankOnly() {
        try (ProcessGroup group = join(MpiOptions.defaults())) {
            for (int count : new int[] {1, MANY, LONG}) {
                Tensor one = ints(count, 1 + group.rank());
                Tensor two = ints(2 * count, 1 + group.rank());
                List<Collective> collectives =
                        List.of(
                                new Collective(() -> group.sync().barrier(), () -> group.barrier()),
                                new Collective(
                                        () -> group.sync().allReduce(one, ReduceOp.SUM),
                                        () -> group.allReduce(one, ReduceOp.SUM)),
                                new Collective(
                                        () -> group.sync().reduce(one, 1, ReduceOp.MAX),
                                        () -> group.reduce(one, 1, ReduceOp.MAX)),
                                new Collective(
                                        () -> group.sync().reduce(one, 0, ReduceOp.MAX),
                                        () -> group.reduce(one, 0, ReduceOp.MAX)),
                                new Collective(
                                        () -> group.sync().broadcast(one, 1),
                                        () -> group.broadcast(one, 1)),
                                new Collective(
                                        () -> group.sync().allGatherSingle(two, one),
                                        () -> group.allGatherSingle(two, one)),
                                new Collective(
                                        () ->
                                                group.sync()
                                                        .reduceScatterSingle(
                                                                one, two, ReduceOp.SUM),
                                        () -> group.reduceScatterSingle(one, two, ReduceOp.SUM)));
                for (int i = 0; i < collectives.size(); i++) {
                    collectives.get(i).run(i % 2 == group.rank());
                }
                print("rank " + group.rank() + ": " + count + " elements, " + value(one));
            }
        }
    }

    private record Collective(Runnable waits, Supplier<Work> starts) {

        void run(boolean starting) {
            if (starting) {
                starts.get().await();
            } else {
                waits.run();
            }
        }
    }

    /** What ranks in C and Python do by the calls that block; half of it without waiting. */
    private static void shareTheWorld() {
        try (ProcessGroup group = join(MpiOptions.defaults().withSharedWorld())) {
            Tensor first = ints(1, group.rank() + 1);
            Tensor second = ints(1, group.rank() + 1);
            Tensor many = ints(MANY, group.rank() + 1);
            Tensor root = ints(1, group.rank() + 7);
            Work started = group.allReduce(first, ReduceOp.SUM);
            group.sync().allReduce(second, ReduceOp.SUM);
            Work last = group.allReduce(many, ReduceOp.SUM);
            Work broadcast = group.broadcast(root, 0);
            group.barrier().await();
            List.of(started, last, broadcast).forEach(Work::await);
            print(
                    "rank %d of %d: sums %d %d %d from 0 %d"
                            .formatted(
                                    group.rank(),
                                    group.size(),
                                    value(first),
                                    value(second),
                                    value(many.slice(MANY - 1, 1)),
                                    value(root)));
        }
    }

    /** The other rank makes no call. */
    private static void waitInASharedWorld() {
        ProcessGroup group =
                builder(MpiOptions.defaults().withSharedWorld(), expires(Duration.ofSeconds(5)))
                        .build();
        Tensor tensor = ints(1, 1);
        if (group.rank() == 0) {
            print("call: " + end(() -> group.allReduce(tensor, ReduceOp.SUM).await()));
            print("close: " + end(group::close));
        }
        // Rank 0 ends the job, since MPI still has an operation.
        LockSupport.parkNanos(Duration.ofSeconds(group.rank() == 0 ? 0 : 60).toNanos());
    }

    /**
     * Rank 1 comes to the collectives only after rank 0 has issued them and gone on, and needs rank
     * 0's part of them while rank 0 waits in another group.
     */
    private static void issueWithoutWaiting(MpiOptions options) {
        try (ProcessGroup world = join(options);
                ProcessGroup other = world.newGroup(List.of(0, 1)).orElseThrow()) {
            Tensor many = ints(MANY, 1);
            Tensor few = ints(1, 1);
            Tensor first = ints(1, 0);
            Tensor second = ints(1, 0);
            if (world.rank() == 0) {
                Work large = world.allReduce(many, ReduceOp.SUM);
                Work small = world.allReduce(few, ReduceOp.SUM);
                Work one = world.recv(first, 1);
                Work two = world.recv(second, 1);
                world.sync().send(ints(1, 5), 1);
                other.sync().barrier();
                List.of(two, one, small, large).forEach(Work::await);
                print("messages " + value(first) + " " + value(second));
            } else {
                world.sync().recv(first, 0);
                world.sync().send(ints(1, 11), 0);
                world.sync().send(ints(1, 12), 0);
                world.allReduce(many, ReduceOp.SUM).await();
                world.allReduce(few, ReduceOp.SUM).await();
                other.sync().barrier();
            }
            int last = value(many.slice(MANY - 1, 1));
            print("rank " + world.rank() + ": sums " + last + " " + value(few));
        }
    }

    /**
     * Nobody calls MPI while the message moves: not these threads, and there is no engine with a
     * watchdog.
     */
    private static void overlap() {
        MpiOptions options = MpiOptions.defaults().withProgressThread();
        MpiProvider provider = new MpiProvider();
        World world = provider.world(Optional.of(options)).orElseThrow();
        try (HostCommunicator communicator = provider.create(config("world", world, options));
                Tensor tensor = Tensor.allocate(Device.CPU, DataType.INT32, OVERLAPPED)) {
            int mine = 1 + world.rank();
            tensor.copyFrom(IntStream.generate(() -> mine).limit(OVERLAPPED).toArray());
            boolean receives = world.rank() == 1;
            long request =
                    receives
                            ? communicator.recv(tensor.address(), OVERLAPPED, DataType.INT32, 0, 0)
                            : communicator.send(tensor.address(), OVERLAPPED, DataType.INT32, 1, 0);
            int[] found = new int[OVERLAPPED];
            for (int i = 0; i < 600 && !allAre(found, 1); i++) {
                LockSupport.parkNanos(expires(Duration.ofMillis(100)).toNanos());
                tensor.copyTo(found);
            }
            print("rank " + world.rank() + ": moved " + allAre(found, 1));
            communicator.await(request);
        }
    }

    private static CommunicatorConfig config(String name, World world, MpiOptions options) {
        return new CommunicatorConfig(
                name,
                world.rank(),
                world.size(),
                Optional.empty(),
                enough(Duration.ofSeconds(20)),
                enough(Duration.ofSeconds(20)),
                Device.CPU,
                Interop.NONE,
                Optional.empty(),
                Optional.of(options),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }

    /** Rank 1 is busy elsewhere for 4 s, for instance with a checkpoint. */
    private static void waitForLong() {
        try (ProcessGroup group = join(MpiOptions.defaults())) {
            if (group.rank() == 1) {
                LockSupport.parkNanos(expires(Duration.ofSeconds(4)).toNanos());
                group.sync().send(ints(1, 5), 0);
            } else {
                Duration before = processorTime();
                long start = System.nanoTime();
                Tensor tensor = ints(1, 0);
                group.sync().recv(tensor, 1);
                Duration used = processorTime().minus(before);
                Duration waited = Duration.ofNanos(System.nanoTime() - start);
                // A waiting rank polls, after half a second seldom; a poll costs more on a slow
                // machine.
                boolean free = used.compareTo(waited.multipliedBy(3).dividedBy(4)) < 0;
                print("got " + value(tensor) + ", the core was free: " + free);
                print("used " + used + " in " + waited);
            }
            group.sync().barrier();
        }
    }

    private static Duration processorTime() {
        return ProcessHandle.current().info().totalCpuDuration().orElseThrow();
    }

    /**
     * Rank 1 receives a checked message when the library has no room for the answer, and calls
     * nothing afterwards but what the engine does now and then. Rank 0 sleeps while rank 1 fills
     * that room, because each of its calls would empty it.
     */
    private static void computeAfterReceiving(Path answered) throws Exception {
        MpiProvider provider = new MpiProvider();
        MpiOptions options = MpiOptions.defaults();
        World world = provider.world(Optional.of(options)).orElseThrow();
        try (HostCommunicator plain = provider.create(config("plain", world, options));
                HostCommunicator checked =
                        provider.create(config("checked", world, options.withChecks()));
                Tensor one = ints(1, 1);
                Tensor last = ints(1, 2)) {
            if (world.rank() == 1) {
                sendUntilFull(plain, one); // the first messages go another way
                send(plain, last);
                plain.barrier();
                int room = sendUntilFull(plain, one);
                send(plain, last);
                plain.barrier();
                Thread.sleep(300);
                for (int i = 0; i < room; i++) {
                    send(plain, one);
                }
                receive(checked, one);
                for (int i = 0; i < 200 && !Files.exists(answered); i++) {
                    Thread.sleep(100);
                    checked.asynchronousError();
                }
                send(plain, last);
            } else {
                for (int i = 0; i < 2; i++) {
                    Thread.sleep(1000);
                    receiveUntil(plain, one, 2);
                    plain.barrier();
                }
                long sent = checked.send(last.address(), 1, DataType.INT32, 1, 0);
                Thread.sleep(1000);
                boolean ended = false;
                for (int i = 0; i < 1500 && !(ended = checked.test(sent)); i++) {
                    Thread.sleep(10);
                }
                print("rank 0: the send ended " + ended);
                Files.createFile(answered);
                checked.await(sent);
                receiveUntil(plain, one, 2);
            }
        }
    }

    /** Returns how many sends were complete at once, while the other rank called nothing. */
    private static int sendUntilFull(HostCommunicator communicator, Tensor tensor) {
        for (int sent = 0; sent < 1000; sent++) {
            long request = communicator.send(tensor.address(), 1, DataType.INT32, 0, 0);
            boolean full = !communicator.test(request);
            communicator.await(request);
            if (full) {
                return sent;
            }
        }
        return 1000;
    }

    private static void send(HostCommunicator communicator, Tensor tensor) {
        communicator.await(communicator.send(tensor.address(), 1, DataType.INT32, 0, 0));
    }

    private static void receive(HostCommunicator communicator, Tensor tensor) {
        int peer = 1 - MpiErrors.answered(MpiNative.worldRank());
        communicator.await(communicator.recv(tensor.address(), 1, DataType.INT32, peer, 0));
    }

    private static void receiveUntil(HostCommunicator communicator, Tensor tensor, int last) {
        do {
            receive(communicator, tensor);
        } while (value(tensor) != last);
    }

    private static boolean allAre(int[] values, int expected) {
        return Arrays.stream(values).allMatch(value -> value == expected);
    }

    private static void dereferenceNull() {
        try (ProcessGroup group = ProcessGroup.init("mpi")) {
            String[] nothing = new String[1];
            try {
                print("length " + nothing[0].length());
            } catch (NullPointerException e) {
                print("rank " + group.rank() + " caught it");
            }
        }
    }

    /** Too short in one group, with a part of an element, and too long in the other. */
    private static void truncate() {
        try (ProcessGroup world = ProcessGroup.init("mpi");
                ProcessGroup other = world.newGroup(List.of(0, 1)).orElseThrow()) {
            Tensor seven = Tensor.allocate(Device.CPU, DataType.INT8, 7);
            move(other, seven, ints(2, 0));
            move(world, ints(4, 7), ints(2, 0));
        }
    }

    private static void move(ProcessGroup group, Tensor from, Tensor to) {
        if (group.rank() == 0) {
            group.send(from, 1).await();
            return;
        }
        try {
            group.recv(to, 0).await();
        } catch (JcclException e) {
            print(e.getClass().getSimpleName() + ": " + e.getMessage());
        }
    }

    /** The receiver, who expects a few kilobytes, waits in another group when it comes. */
    private static void receiveMoreThanThereIsMemory() {
        try (ProcessGroup world = join(MpiOptions.defaults());
                ProcessGroup other = world.newGroup(List.of(0, 1)).orElseThrow()) {
            Tensor memory = ints(MANY, 3);
            if (world.rank() == 0) {
                Tensor endless =
                        Tensor.of(memory.address(), 1L << 50, DataType.INT8, Device.CPU, memory);
                world.send(endless, 1);
                other.sync().send(ints(1, 5), 1);
            } else {
                Work message = world.recv(memory, 0);
                Tensor small = ints(1, 0);
                other.sync().recv(small, 0);
                print("other group: " + value(small));
                try {
                    message.await();
                } catch (JcclException e) {
                    print(e.getClass().getSimpleName() + ": " + e.getMessage());
                }
            }
            endTogether(other);
        }
    }

    /**
     * Operations in which rank 0 expects less than rank 1 sends. What lies behind rank 0's elements
     * must stay as it is.
     */
    private static void disagreeAboutCounts(int few) {
        try (ProcessGroup world = join(MpiOptions.defaults(), enough(Duration.ofSeconds(10)))) {
            int count = world.rank() == 0 ? few : MANY;
            Tensor in = ints(2 * MANY, 1);
            int mine = 1 + world.rank();
            Tensor out = ints(2 * MANY, mine);
            List<BiConsumer<ProcessGroup, Tensor>> operations =
                    List.of(
                            (group, to) -> message(group, to),
                            (group, to) -> group.broadcast(to, 1).await(),
                            (group, to) -> group.allReduce(to, ReduceOp.SUM).await(),
                            (group, to) -> group.reduce(to, 0, ReduceOp.SUM).await(),
                            (group, to) ->
                                    group.reduceScatterSingle(
                                                    to, in.slice(0, 2 * to.count()), ReduceOp.SUM)
                                            .await(),
                            (group, to) ->
                                    group.allGatherSingle(to, in.slice(0, to.count() / 2)).await(),
                            (group, to) ->
                                    group.allToAllSingle(to, in.slice(0, to.count())).await());
            for (BiConsumer<ProcessGroup, Tensor> operation : operations) {
                try (ProcessGroup group = world.newGroup(List.of(0, 1)).orElseThrow()) {
                    operation.accept(group, out.slice(0, count));
                    print("rank " + world.rank() + ": returned");
                } catch (JcclException e) {
                    print("rank " + world.rank() + ": " + e);
                }
                int[] found = new int[2 * MANY];
                out.copyTo(found);
                if (Arrays.stream(found, count, found.length).anyMatch(value -> value != mine)) {
                    print("OVERWRITTEN on rank " + world.rank());
                }
                churnTheHeap();
                world.monitoredBarrier(enough(Duration.ofSeconds(60)), true);
            }
            print("rank " + world.rank() + " is alive");
            endTogether(world);
        }
    }

    private static void message(ProcessGroup group, Tensor tensor) {
        if (group.rank() == 0) {
            group.sync().recv(tensor, 1);
        } else {
            group.sync().send(tensor, 0);
        }
    }

    /** Finds what was written where it should not. */
    private static void churnTheHeap() {
        for (int size = 1; size < MANY; size *= 2) {
            Tensor.allocate(Device.CPU, DataType.INT32, size).close();
        }
    }

    /** Ranks that name different roots, and one that names a root that is not there. */
    private static void disagreeAboutTheRoot() {
        try (ProcessGroup world = join(MpiOptions.defaults())) {
            try {
                world.sync().broadcast(ints(1, 0), 2 + world.rank());
            } catch (JcclException e) {
                print("rank " + world.rank() + ": " + e.getClass().getSimpleName());
            }
            try (ProcessGroup group = world.newGroup(List.of(0, 1)).orElseThrow()) {
                group.broadcast(ints(MANY, 0), 1 - world.rank()).await();
                print("rank " + world.rank() + ": returned");
            } catch (JcclException e) {
                print("rank " + world.rank() + " stuck: " + e.getClass().getSimpleName());
            }
            endTogether(world);
        }
    }

    /** MPI itself gives each rank the result of its own reduction. */
    private static void disagreeAboutTheReduction() {
        disagree(
                MpiOptions.defaults().withChecks(),
                group ->
                        group.sync()
                                .allReduce(
                                        ints(1, 1),
                                        group.rank() == 0 ? ReduceOp.SUM : ReduceOp.MAX));
    }

    /** Its root does not notice, and MPI itself takes the sum of the other rank for it. */
    private static void skipABroadcast() {
        disagree(
                MpiOptions.defaults().withChecks(),
                group -> {
                    if (group.rank() == 0) {
                        group.sync().broadcast(ints(1, 1), 0);
                    }
                    group.sync().allReduce(ints(1, 1), ReduceOp.SUM);
                });
    }

    /** Open MPI's ranks compare before a long call, and all that they have issued. */
    private static void skipACallBeforeALongOne() {
        disagree(
                MpiOptions.defaults(),
                group -> {
                    if (group.rank() == 0) {
                        group.sync().broadcast(ints(1, 1), 0);
                    }
                    group.sync().allReduce(ints(LONG, 1), ReduceOp.SUM);
                });
    }

    private static void disagree(MpiOptions options, Consumer<ProcessGroup> body) {
        try (ProcessGroup world = join(options, enough(Duration.ofSeconds(60)))) {
            try (ProcessGroup group = world.newGroup(List.of(0, 1)).orElseThrow()) {
                body.accept(group);
                print("rank " + world.rank() + ": returned");
            } catch (JcclException e) {
                print("rank " + world.rank() + " stuck: " + e.getClass().getSimpleName());
            }
            endTogether(world);
        }
    }

    /**
     * A process with abandoned operations ends the job, and what others have printed may be lost.
     */
    private static void endTogether(ProcessGroup world) {
        world.monitoredBarrier(enough(Duration.ofSeconds(60)), true);
        LockSupport.parkNanos(expires(Duration.ofSeconds(1)).toNanos());
    }

    private static void makeGroupsInTurn(int times) {
        try (ProcessGroup world = join(MpiOptions.defaults())) {
            for (int i = 0; i < times; i++) {
                ProcessGroup group = world.newGroup(List.of(0, 1)).orElseThrow();
                group.sync().allReduce(ints(1, 1), ReduceOp.SUM);
                group.close();
            }
            print("rank " + world.rank() + " made them");
        }
    }

    /** Rank 1 makes the group when rank 0 has given up, and without a store nothing said so. */
    private static void makeAGroupLate() {
        ProcessGroup world =
                join(MpiOptions.defaults().withSharedWorld(), expires(Duration.ofSeconds(8)));
        if (world.rank() == 0) {
            try {
                world.newGroup(List.of(0, 1));
            } catch (JcclException e) {
                print("rank 0: " + e);
            }
            world.sync().send(ints(1, 1), 1, 0);
            world.sync().recv(ints(1, 0), 1, 0);
        } else {
            // Rank 0 sends after its 8 s, and either rank may be some seconds behind the other.
            LockSupport.parkNanos(expires(Duration.ofSeconds(4)).toNanos());
            world.sync().recv(ints(1, 0), 0, 0);
            world.newGroup(List.of(0, 1));
            print("rank 1 is through");
            world.sync().send(ints(1, 1), 0, 0);
        }
    }

    /** Rank 1 makes none, and without a store nothing says so. */
    private static void exitWhileAGroupIsMade() {
        ProcessGroup world = join(MpiOptions.defaults().withSharedWorld());
        if (world.rank() == 0) {
            Thread forming = new Thread(() -> world.newGroup(List.of(0, 1)));
            forming.setDaemon(true);
            forming.start();
            LockSupport.parkNanos(300_000_000);
            print("rank 0 exits");
            System.exit(3);
        }
        world.sync().barrier();
    }

    /** The library refuses what is needed for the first groups. */
    private static void makeGroupsInVain(int times) {
        try (ProcessGroup world = join(MpiOptions.defaults())) {
            for (int i = 0; i < times; i++) {
                try {
                    world.newGroup(List.of(0, 1)).orElseThrow().close();
                    print("made");
                } catch (NativeException e) {
                    if (i == 0) {
                        print("refused: " + e.getMessage());
                    }
                }
            }
            try (ProcessGroup group = world.newGroup(List.of(0, 1)).orElseThrow()) {
                Tensor tensor = ints(1, 1 + world.rank());
                group.sync().allReduce(tensor, ReduceOp.SUM);
                print("rank " + world.rank() + ": sum " + value(tensor));
            }
        }
    }

    private static void die() {
        ProcessGroup group = ProcessGroup.init("mpi");
        if (group.rank() == 1) {
            print("rank 1 dies");
            LockSupport.parkNanos(expires(Duration.ofSeconds(1)).toNanos());
            Runtime.getRuntime().halt(9);
        }
        group.allReduce(ints(1, 1), ReduceOp.SUM).await();
        print("survived");
    }

    /** Rank 1 leaves a group with an operation that rank 0 never issues. */
    private static void abandonACollective() {
        try (ProcessGroup world = join(MpiOptions.defaults())) {
            world.newGroup(List.of(0, 1)).ifPresent(group -> leave(world, group));
            world.sync().barrier();
            sumOfTwo(world);
            endTogether(world);
        }
    }

    private static void leave(ProcessGroup world, ProcessGroup group) {
        if (world.rank() == 1) {
            group.allReduce(ints(1, 1), ReduceOp.SUM);
            group.abort();
        }
        group.close();
    }

    /** A message is sent, and nobody receives it. */
    private static void closeWithAMessageUnderWay() {
        try (ProcessGroup world = join(MpiOptions.defaults())) {
            world.newGroup(List.of(0, 1))
                    .ifPresent(
                            group -> {
                                if (world.rank() == 1) {
                                    group.send(ints(1, 50), 0).await();
                                }
                                group.close();
                            });
            world.sync().barrier();
            world.newGroup(List.of(0, 2))
                    .ifPresent(
                            group -> {
                                Tensor tensor = ints(1, 7);
                                if (group.rank() == 1) {
                                    group.sync().send(tensor, 0);
                                } else {
                                    group.sync().recv(tensor, 1);
                                }
                                print("rank " + world.rank() + ": got " + value(tensor));
                                group.close();
                            });
            world.sync().barrier();
        }
    }

    /** A new group of ranks 0 and 2, in which nothing of the old one may arrive. */
    private static void sumOfTwo(ProcessGroup world) {
        world.newGroup(List.of(0, 2))
                .ifPresent(
                        group -> {
                            Tensor tensor = ints(1, 1 + world.rank());
                            group.allReduce(tensor, ReduceOp.SUM).await();
                            print("rank " + world.rank() + ": sum " + value(tensor));
                            group.close();
                        });
        world.sync().barrier();
    }

    private static int value(Tensor tensor) {
        int[] result = new int[1];
        tensor.copyTo(result);
        return result[0];
    }

    /** Two ranks in one process. */
    private static void joinTwice() {
        try (Store store = HashStore.create(enough(Duration.ofSeconds(10)))) {
            CompletableFuture<Void> other =
                    CompletableFuture.runAsync(
                            () -> joinAs(store, 1), task -> new Thread(task).start());
            joinAs(store, 0);
            other.join();
        }
    }

    private static void joinAs(Store store, int rank) {
        try (ProcessGroup group =
                ProcessGroup.builder()
                        .backend("mpi")
                        .store(store)
                        .rank(rank)
                        .worldSize(2)
                        .timeout(enough(Duration.ofSeconds(10)))
                        .build()) {
            print("joined as " + group.rank());
        } catch (JcclException e) {
            print(e.getClass().getSimpleName() + ": " + e.getMessage());
        }
    }
}
