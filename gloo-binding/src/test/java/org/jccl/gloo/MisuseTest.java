package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.jccl.Availability;
import org.jccl.BackendOptions;
import org.jccl.Batch;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupInfo;
import org.jccl.GroupListener;
import org.jccl.JcclException;
import org.jccl.ObjectCodec;
import org.jccl.OperationInfo;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.bootstrap.ClusterEnvironment;
import org.jccl.bootstrap.ErrorFile;
import org.jccl.bootstrap.Membership;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.launch.OutputHandler;
import org.jccl.launch.ProcessLauncher;
import org.jccl.launch.ProcessLauncherBuilder;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableBuilder;
import org.jccl.ranktable.RankTableException;
import org.jccl.ranktable.RankTableFormat;
import org.jccl.spi.BackendProvider;
import org.jccl.store.HashStore;
import org.jccl.testing.Misuse;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Everything public, called with wrong arguments: by both ranks of a world at once where it is
 * about a group. Each call succeeds or throws an exception of this library in time, and a world
 * goes on after one that was refused.
 */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class MisuseTest {

    private static final int SIZE = 2;
    private static final Duration TIMEOUT = enough(Duration.ofMinutes(2));
    private static final long DEADLINE_SECONDS = 60;

    /** After so long a call is taken to wait for the other rank, and the world is aborted. */
    private static final long PATIENCE_MILLIS = 300;

    private static final String LOW =
            "works on addresses, handles and configurations of engines, which have checked them";
    private static final String WAITS =
            "most calls wait for a key as long as they are told; the stores have tests of their own";
    private static final String DEVICE = "there is no device here";

    private static final Set<Class<?>> OF_A_WORLD =
            Set.of(ProcessGroup.class, SyncCollectives.class, Batch.class, Work.class);

    private final List<ExecutorService> threads =
            List.of(Executors.newSingleThreadExecutor(), Executors.newSingleThreadExecutor());
    private final List<ProcessGroup> world = new ArrayList<>();
    private final List<ProcessGroup> ended = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();

    @AfterEach
    void leave() {
        leaveWorld();
        ended.forEach(ProcessGroup::close);
        threads.forEach(ExecutorService::shutdownNow);
    }

    private static Tensor floats(int count) {
        ByteBuffer memory = ByteBuffer.allocateDirect(Float.BYTES * count);
        return Tensor.of(memory.order(ByteOrder.nativeOrder()).asFloatBuffer());
    }

    private static Tensor longs(int count) {
        ByteBuffer memory = ByteBuffer.allocateDirect(Long.BYTES * count);
        return Tensor.of(memory.order(ByteOrder.nativeOrder()).asLongBuffer());
    }

    private static Tensor closed() {
        Tensor tensor = floats(2);
        tensor.close();
        return tensor;
    }

    private ProcessGroup group(int rank) {
        return world.get(rank);
    }

    /** A world of one rank that cannot be used any more. */
    private ProcessGroup unusable(Consumer<ProcessGroup> end) {
        ProcessGroup group =
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(HashStore.create(TIMEOUT))
                        .rank(0)
                        .worldSize(1)
                        .timeout(TIMEOUT)
                        .options(GlooOptions.onHost("127.0.0.1"))
                        .build();
        ended.add(group);
        end.accept(group);
        return group;
    }

    private static ProcessLauncherBuilder launcher() {
        return ProcessLauncher.builder(1).command(List.of("true"));
    }

    private static GroupInfo group() {
        return new GroupInfo("g", 0, 1, List.of(0), "gloo", Device.CPU);
    }

    private static final class TextCodec implements ObjectCodec<Object> {
        @Override
        public byte[] encode(Object value) {
            return value.toString().getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public Object decode(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    private Misuse misuse() {
        ProcessGroup closed = unusable(ProcessGroup::close);
        ProcessGroup aborted = unusable(ProcessGroup::abort);
        return new Misuse()
                .with(
                        Tensor.class,
                        rank -> floats(2),
                        rank -> floats(4),
                        rank -> floats(0),
                        rank -> closed(),
                        rank -> longs(2),
                        rank -> Tensor.of(64, 1, DataType.INT8, new Device("abacus", 0), null))
                .with(Device.class, rank -> Device.CPU, rank -> new Device("abacus", 7))
                .with(GroupInfo.class, rank -> group())
                .with(
                        OperationInfo.class,
                        rank ->
                                new OperationInfo(
                                        group(),
                                        "barrier",
                                        true,
                                        0,
                                        -1,
                                        Optional.empty(),
                                        0,
                                        Instant.EPOCH))
                .with(ObjectCodec.class, rank -> new TextCodec())
                .with(GroupListener.class, rank -> new GroupListener() {})
                .with(ProcessGroup.class, this::group, rank -> closed, rank -> aborted)
                .with(
                        SyncCollectives.class,
                        rank -> group(rank).sync(),
                        rank -> closed.sync(),
                        rank -> aborted.sync())
                .with(
                        Batch.class,
                        rank -> group(rank).batch(),
                        rank -> closed.batch(),
                        rank -> aborted.batch())
                .with(
                        ClusterEnvironment.class,
                        ClusterEnvironment.known().stream()
                                .map(each -> (Misuse.Sample) rank -> each)
                                .toArray(Misuse.Sample[]::new))
                .with(
                        Membership.class,
                        rank ->
                                new Membership(
                                        "x",
                                        0,
                                        1,
                                        -1,
                                        -1,
                                        Optional.empty(),
                                        Optional.empty(),
                                        false,
                                        0))
                .with(
                        Rendezvous.class,
                        rank ->
                                Rendezvous.over(
                                        HashStore.create(TIMEOUT),
                                        OptionalInt.of(0),
                                        OptionalInt.of(1)))
                .with(
                        ErrorFile.class,
                        rank -> ErrorFile.in(Map.of("TORCHELASTIC_ERROR_FILE", "/")).orElseThrow())
                .with(ProcessLauncherBuilder.class, rank -> launcher())
                .with(ProcessLauncher.class, rank -> launcher().build())
                .with(OutputHandler.class, rank -> (OutputHandler) (from, error, line) -> {})
                .with(Work.class, rank -> group(rank).barrier())
                .with(RankTableBuilder.class, rank -> RankTable.builder(RankTableFormat.SCCL_1_0))
                .with(
                        RankTable.class,
                        rank ->
                                RankTable.builder(RankTableFormat.HCCL_1_0)
                                        .node("10.0.0.1")
                                        .device(0, "10.0.1.1")
                                        .build())
                .with(RankTableException.class, rank -> catchThrowable(() -> RankTable.parse("{")))
                .with(Store.class, rank -> HashStore.create(expires(Duration.ofMillis(20))))
                .with(JcclException.class, rank -> new UsageException(FailureContext.NONE, "x"))
                .with(Availability.class, rank -> new Availability.Available("1", "x"))
                .with(BackendOptions.class, rank -> GlooOptions.onHost("127.0.0.1"))
                .with(BackendProvider.class, rank -> new GlooProvider())
                .with(
                        ProcessGroupBuilder.class,
                        rank ->
                                ProcessGroup.builder()
                                        .backend("gloo")
                                        .timeout(expires(Duration.ofMillis(200)))
                                        .options(GlooOptions.onHost("127.0.0.1")))
                .without("org.jccl.spi", LOW)
                .without("org.jccl.spi.support", LOW)
                .without("org.jccl.store", WAITS)
                .without("Rendezvous.in", LOW)
                .without("MembershipReader.*", "called by launchers' readers, which are")
                .without("LaunchException.*", "getters of what a launcher found out")
                .without("Store.*", WAITS)
                .without(
                        "JcclProvider.*",
                        "called by static methods that are, with the same arguments")
                .without("GlooProvider.create", LOW)
                .without("TlsCredentials.*", "its factories are called; the rest are getters")
                .without("Stream.*", DEVICE)
                .without("Stream.Scope.*", DEVICE)
                .without("Event.*", DEVICE);
    }

    @Test
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    void nothingPublicTakesWrongArgumentsBadly() throws Exception {
        List<Misuse.Call> calls =
                misuse().calls(
                                ProcessGroup.class,
                                Rendezvous.class,
                                ProcessLauncher.class,
                                RankTable.class,
                                GlooProvider.class);
        assertThat(calls).hasSizeGreaterThan(2000);
        for (Misuse.Call call : calls) {
            if (isOfAWorld(call)) {
                onBothRanks(call);
            } else {
                await(call, threads.get(0).submit(() -> call.make(0)));
            }
        }
        assertThat(faults).isEmpty();
    }

    private static boolean isOfAWorld(Misuse.Call call) {
        return Stream.concat(
                        Stream.of(call.executable().getDeclaringClass()),
                        Stream.of(call.executable().getParameterTypes()))
                .anyMatch(OF_A_WORLD::contains);
    }

    private <T> List<Future<T>> onThreads(IntFunction<Callable<T>> body) {
        List<Future<T>> results = new ArrayList<>();
        for (int rank = 0; rank < SIZE; rank++) {
            results.add(threads.get(rank).submit(body.apply(rank)));
        }
        return results;
    }

    private void onBothRanks(Misuse.Call call) throws Exception {
        if (world.isEmpty()) {
            joinWorld();
        }
        List<Future<Optional<JcclException>>> results = onThreads(rank -> () -> call.make(rank));
        boolean aborted = false;
        boolean refused = true;
        boolean succeeded = true;
        for (Future<Optional<JcclException>> result : results) {
            try {
                result.get(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                world.forEach(ProcessGroup::abort);
                aborted = true;
            } catch (ExecutionException e) {
                // Told below.
            }
            Optional<JcclException> thrown = await(call, result);
            succeeded &= thrown.isEmpty();
            refused &=
                    thrown.filter(each -> each.category() == JcclException.Category.USAGE)
                            .isPresent();
        }
        // What was issued may wait for ever; a getter leaves nothing behind.
        boolean isClean = refused || succeeded && call.executable().getParameterCount() == 0;
        if (aborted || !isClean) {
            leaveWorld();
        } else if (!isUsable()) {
            if (refused) {
                faults.add("the world does not go on after " + call);
            }
            leaveWorld();
        }
    }

    private Optional<JcclException> await(Misuse.Call call, Future<Optional<JcclException>> result)
            throws Exception {
        try {
            return result.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError(call + " hangs", e);
        } catch (ExecutionException e) {
            faults.add(e.getCause().getMessage());
            return Optional.empty();
        }
    }

    private boolean isUsable() throws Exception {
        List<Future<float[]>> sums =
                onThreads(
                        rank ->
                                () -> {
                                    Tensor sum = floats(1).copyFrom(new float[] {1 + rank});
                                    group(rank).sync().allReduce(sum, ReduceOp.SUM);
                                    return sum.copyTo(new float[1]);
                                });
        boolean right = true;
        for (Future<float[]> sum : sums) {
            try {
                right &= sum.get(DEADLINE_SECONDS, TimeUnit.SECONDS)[0] == 3;
            } catch (ExecutionException e) {
                right = false;
            }
        }
        return right;
    }

    private void joinWorld() throws Exception {
        Store store = HashStore.create(TIMEOUT);
        List<Future<ProcessGroup>> joined =
                onThreads(
                        rank ->
                                () ->
                                        ProcessGroup.builder()
                                                .backend("gloo")
                                                .store(store)
                                                .rank(rank)
                                                .worldSize(SIZE)
                                                .timeout(TIMEOUT)
                                                .options(GlooOptions.onHost("127.0.0.1"))
                                                .build());
        for (Future<ProcessGroup> each : joined) {
            world.add(each.get(DEADLINE_SECONDS, TimeUnit.SECONDS));
        }
    }

    private void leaveWorld() {
        world.forEach(ProcessGroup::abort);
        world.forEach(ProcessGroup::close);
        world.clear();
    }
}
