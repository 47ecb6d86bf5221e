package org.jccl.nccl;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.OperationTimeoutException;
import org.jccl.UsageException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;

/**
 * Records which memory of {@link NcclMemory} is registered with which communicators. Guarded by the
 * lock of this class, which no thread holds while it calls NCCL.
 *
 * <p>A block has users: its tensor, and threads that register or deregister it. The last user frees
 * it, when NCCL no longer uses it: it was deregistered, or the communicator has ended. If neither
 * happens, the memory stays allocated.
 */
final class NcclRegistrations {

    private static final TreeMap<Long, Block> BLOCKS = new TreeMap<>();

    /** The communicators with which all memory of their device is registered. */
    private static final Set<NcclHandle> AUTOMATIC = new HashSet<>();

    private record Registration(NcclHandle handle, boolean window, long id) {}

    /** Memory from ncclMemAlloc. */
    static final class Block {

        private final long address;
        private final long bytes;
        private final int device;
        private final List<Registration> registrations = new ArrayList<>();
        private int users = 1;

        private Block(long address, long bytes, int device) {
            this.address = address;
            this.bytes = bytes;
            this.device = device;
        }
    }

    private NcclRegistrations() {}

    /** Takes over memory, whose user is its tensor. */
    static synchronized Block add(long address, long bytes, int device) {
        Block block = new Block(address, bytes, device);
        BLOCKS.put(address, block);
        return block;
    }

    /** Registers new memory with the communicators that register all memory. */
    static void registerWithAll(Block block) {
        List<NcclHandle> handles;
        synchronized (NcclRegistrations.class) {
            handles = AUTOMATIC.stream().filter(each -> each.device() == block.device).toList();
        }
        handles.forEach(each -> registerUnlessAborted(each, block));
    }

    /** Registers all memory of the device with a communicator, now and when it is allocated. */
    static void registerAll(NcclHandle handle) {
        List<Block> blocks;
        synchronized (NcclRegistrations.class) {
            AUTOMATIC.add(handle);
            blocks = BLOCKS.values().stream().filter(b -> b.device == handle.device()).toList();
            blocks.forEach(block -> block.users++);
        }
        try {
            blocks.forEach(block -> registerUnlessAborted(handle, block));
        } finally {
            blocks.forEach(NcclRegistrations::leave);
        }
    }

    private static void registerUnlessAborted(NcclHandle handle, Block block) {
        try {
            register(handle, block, false);
        } catch (GroupAbortedException e) {
            // The group reports the reason.
        }
    }

    /** Registers the block that memory is a part of. */
    static void register(NcclHandle handle, long address, long bytes, boolean window) {
        Block block;
        synchronized (NcclRegistrations.class) {
            Map.Entry<Long, Block> entry = BLOCKS.floorEntry(address);
            block = entry == null ? null : entry.getValue();
            if (block == null
                    || address + bytes > block.address + block.bytes
                    || block.device != handle.device()) {
                throw new UsageException(
                        FailureContext.NONE,
                        "register: NCCL registers memory of ncclMemAlloc only; allocate the tensor"
                                + " with NcclMemory.allocate, or with allocate of the group");
            }
            block.users++;
        }
        Runnable call =
                () -> {
                    try {
                        CudaRuntime.enter(block.device);
                        register(handle, block, window);
                    } finally {
                        leave(block);
                    }
                };
        if (!window) {
            call.run();
            return;
        }
        // On a separate thread, because the call waits for the other ranks.
        if (!BoundedCall.run("jccl-nccl-window-" + handle.group(), call, handle.timeout())) {
            throw handle.giveUp(
                    new OperationTimeoutException(
                            FailureContext.NONE,
                            "ncclCommWindowRegister did not finish in "
                                    + Durations.rounded(handle.timeout())
                                    + ": all ranks must register the same tensors in the same"
                                    + " order"));
        }
    }

    private static void register(NcclHandle handle, Block block, boolean window) {
        try (NcclCalls calls = handle.enter()) {
            synchronized (NcclRegistrations.class) {
                if (of(handle, block).stream().anyMatch(each -> each.window == window)) {
                    return;
                }
            }
            // The job of a window may still register it after this call has failed.
            long id = window ? NcclHandle.UNKNOWN : 0;
            try {
                id = calls.register(block.address, block.bytes, window);
            } finally {
                note(block, new Registration(handle, window, id));
            }
        }
    }

    private static void note(Block block, Registration made) {
        if (made.id != 0) { // NCCL has taken none
            synchronized (NcclRegistrations.class) {
                block.registrations.add(made);
            }
        }
    }

    /**
     * Deregisters the memory of a communicator. The calling thread is inside and ends it normally.
     */
    static void deregisterAll(NcclHandle handle) {
        List<Block> blocks;
        synchronized (NcclRegistrations.class) {
            AUTOMATIC.remove(handle);
            blocks = BLOCKS.values().stream().filter(b -> !of(handle, b).isEmpty()).toList();
            blocks.forEach(block -> block.users++);
        }
        for (Block block : blocks) {
            List<Registration> all;
            synchronized (NcclRegistrations.class) {
                all = new ArrayList<>(of(handle, block));
            }
            all.removeIf(each -> each.id == NcclHandle.UNKNOWN);
            // A registration that fails to end remains until the end of the communicator.
            all.forEach(
                    each ->
                            CleanUp.run(
                                    "group " + handle.group(),
                                    () -> {
                                        handle.inside().deregister(each.window, each.id);
                                        remove(block, each);
                                    }));
            leave(block);
        }
    }

    private static synchronized void remove(Block block, Registration registration) {
        block.registrations.remove(registration);
    }

    /** Removes a communicator that has ended: NCCL has deregistered its remaining memory. */
    static synchronized void forget(NcclHandle handle) {
        AUTOMATIC.remove(handle);
        BLOCKS.values().forEach(block -> block.registrations.removeAll(of(handle, block)));
    }

    /** With the lock. */
    private static List<Registration> of(NcclHandle handle, Block block) {
        return block.registrations.stream().filter(each -> each.handle == handle).toList();
    }

    private static synchronized boolean isLast(Block block) {
        block.users--;
        return block.users == 0;
    }

    /** Not on this thread, which may be inside a communicator. */
    private static void leave(Block block) {
        if (isLast(block)) {
            BoundedCall.start("jccl-nccl-free-memory", () -> free(block));
        }
    }

    /** Frees the memory of a tensor. */
    static void release(Block block) {
        synchronized (NcclRegistrations.class) {
            BLOCKS.remove(block.address);
        }
        if (isLast(block)) {
            free(block);
        }
    }

    private static void free(Block block) {
        for (Registration each : block.registrations) {
            if (!each.handle.deregister(each.window, each.id)) {
                CleanUp.log(
                        "group " + each.handle.group(),
                        new IllegalStateException(
                                "%d bytes of NcclMemory stay allocated, because the communicator with which they are registered has not ended"
                                        .formatted(block.bytes)));
                return;
            }
        }
        CudaRuntime.enter(block.device);
        NcclErrors.check(NcclNative.memFree(block.address), "ncclMemFree");
    }
}
