package org.jccl.internal.group;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.Availability;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.NativeException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.UsageException;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.host.ScriptedCommunicator;
import org.jccl.internal.host.ScriptedProvider;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.torch.TorchKeys;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.OperationKind;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.Logged;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A group lets go of everything, whatever of it fails. */
@Timeout(60)
class GroupClosingTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));
    private static final AtomicInteger RANKS = new AtomicInteger(7_000);

    private final ScriptedCommunicator library = new ScriptedCommunicator();
    private final AtomicInteger ended = new AtomicInteger();

    /** For the name of the watchdog's thread. */
    private final int rank = RANKS.incrementAndGet();

    private RuntimeException createFailure;

    private BackendProvider provider =
            new ScriptedProvider(
                    config -> {
                        if (createFailure != null) {
                            throw createFailure;
                        }
                        return library.communicator();
                    });

    private Group world(Interop interop, Optional<Store> store, Runnable onClose) {
        WorldBuilder builder =
                new WorldBuilder(
                                rank,
                                rank + 1,
                                TIMEOUT,
                                List.of(new Backend(provider, Device.CPU, Optional.empty())))
                        .keys(
                                store.filter(given -> interop != Interop.NONE)
                                        .map(given -> TorchKeys.of(interop, given)))
                        .onClose(onClose);
        store.ifPresent(given -> builder.store(given, false));
        return builder.connect();
    }

    private void assertNothingIsLeft() throws InterruptedException {
        assertThat(ended).hasValue(1);
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().endsWith("-rank-" + rank)) {
                thread.join(20_000);
                assertThat(thread.isAlive()).as(thread.getName()).isFalse();
            }
        }
    }

    @Test
    void aLibraryThatFailsOnClosingLeavesNothingBehind() throws Exception {
        Group group =
                world(Interop.NONE, Optional.of(HashStore.create(TIMEOUT)), ended::incrementAndGet);
        library.closeFailure = new NativeException(FailureContext.NONE, "library", 5, "comm free");
        assertThatThrownBy(group::close).hasMessageContaining("comm free");
        assertNothingIsLeft();
    }

    @Test
    void aStoreThatFailsOnClosingLeavesNothingBehind() throws Exception {
        Group group =
                world(
                        Interop.NONE,
                        Optional.of(HashStore.create(TIMEOUT)),
                        () -> {
                            ended.incrementAndGet();
                            throw new StoreException("the server is gone", null);
                        });
        library.closeFailure = new NativeException(FailureContext.NONE, "library", 5, "comm free");
        assertThatThrownBy(group::close)
                .hasMessageContaining("comm free")
                .satisfies(
                        thrown ->
                                assertThat(thrown.getSuppressed())
                                        .singleElement()
                                        .isInstanceOf(StoreException.class));
        assertNothingIsLeft();
    }

    @Test
    void aWorldThatCanNotBeMadeLeavesNothingBehind() throws Exception {
        createFailure = new IllegalStateException("no such device");
        assertThatThrownBy(
                        () ->
                                world(
                                        Interop.NONE,
                                        Optional.empty(),
                                        () -> {
                                            ended.incrementAndGet();
                                            throw new StoreException("the server is gone", null);
                                        }))
                .hasMessageContaining("no such device");
        assertNothingIsLeft();
    }

    /** In a process whose environment names a folder that Java cannot represent as a path. */
    static final class TraceFolder {

        private TraceFolder() {}

        public static void main(String[] arguments) {
            GroupClosingTest test = new GroupClosingTest();
            try {
                test.world(
                        Interop.NONE,
                        Optional.empty(),
                        () -> System.out.println("the rendezvous was closed"));
            } catch (UsageException e) {
                System.out.println("refused: " + e.getMessage());
            }
            Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().endsWith("-rank-" + test.rank))
                    .forEach(thread -> System.out.println("left: " + thread.getName()));
        }
    }

    @Test
    void aTraceFolderThatIsNoPathLeavesNothingBehind(@TempDir Path directory) throws Exception {
        String output =
                ChildJvm.outputInAscii(
                        directory.resolve("script"),
                        TraceFolder.class,
                        Map.of("JCCL_TRACE_DIR", "/nowhere/j\u00f6rg"));
        assertThat(output)
                .containsSubsequence("the rendezvous was closed", "refused: ", "JCCL_TRACE_DIR")
                .doesNotContain("left: ");
    }

    /** Its name is asked for when its observers are made. */
    private record Unnamed(BackendProvider named, AtomicBoolean made) implements BackendProvider {

        @Override
        public String name() {
            if (made.get()) {
                throw new IllegalStateException("no observers");
            }
            return named.name();
        }

        @Override
        public Set<String> deviceTypes() {
            return named.deviceTypes();
        }

        @Override
        public Availability availability() {
            return named.availability();
        }

        @Override
        public Communicator create(CommunicatorConfig config) {
            Communicator communicator = named.create(config);
            made.set(true);
            return communicator;
        }
    }

    @Test
    void anEngineWithoutObserversIsClosed() throws Exception {
        provider = new Unnamed(provider, new AtomicBoolean());
        assertThatThrownBy(() -> world(Interop.NONE, Optional.empty(), ended::incrementAndGet))
                .hasMessageContaining("no observers");
        assertThat(library.calls()).contains("abort", "close");
        assertNothingIsLeft();
    }

    /** Otherwise nothing would enforce the deadlines of its operations any more. */
    @Test
    void aWorldClosesTheGroupsThatWereMadeFromItFirst() {
        Group world = world(Interop.NONE, Optional.empty(), ended::incrementAndGet);
        Group first = world.newGroup(List.of(rank), Optional.empty()).orElseThrow();
        Group second = first.newGroup(List.of(0), Optional.empty()).orElseThrow();
        Group done = world.newGroup(List.of(rank, 1), Optional.empty()).orElseThrow();
        done.close();
        String log = Logged.during(CleanUp.class, world::close);
        assertThat(log)
                .contains("closed before groups that were made from it: [world/" + rank + "]")
                .contains("Close them before");
        assertThat(first.isClosed()).isTrue();
        assertThat(second.isClosed()).isTrue();
        assertThat(ended).hasValue(1);
    }

    /** A program that forgets it has no other sign of it. */
    @Test
    void aProgramThatEndsWithAnOpenGroupIsTold() throws Exception {
        assertThat(ChildJvm.outputOf(LeavesOpen.class, Map.of()))
                .containsOnlyOnce("the process ends with open groups: group 'world'")
                .contains("1 operations in flight")
                .contains("close()");
        assertThat(ChildJvm.outputOf(LeavesOpen.class, Map.of(), "-Dtest.closes=true"))
                .doesNotContain("open groups");
        assertThat(ChildJvm.outputOf(143, LeavesOpen.class, Map.of(), "-Dtest.signal=true"))
                .as("a launcher ends its ranks so")
                .doesNotContain("open groups");
    }

    static final class LeavesOpen {

        public static void main(String[] arguments) throws Exception {
            GroupClosingTest test = new GroupClosingTest();
            Group world = test.world(Interop.NONE, Optional.empty(), () -> {});
            if (Boolean.getBoolean("test.closes")) {
                world.close();
                return;
            }
            test.library.block();
            Operation operation = world.engineOf(Device.CPU).newOperation();
            operation.kind = OperationKind.BARRIER;
            world.engineOf(Device.CPU).submit(operation);
            test.library.awaitCalls(1);
            if (Boolean.getBoolean("test.signal")) {
                String pid = Long.toString(ProcessHandle.current().pid());
                new ProcessBuilder("kill", "-TERM", pid).start().waitFor();
                Thread.sleep(TIMEOUT.toMillis());
            }
        }
    }
}
