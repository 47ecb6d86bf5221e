package org.jccl;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A group of ranks that communicate. Every method that returns a {@link Work} only issues an
 * operation; {@link #sync()} has the same list for callers that want it done on return.
 *
 * <p>All ranks of a group issue the same collectives in the same order with matching arguments.
 * When they do not, ranks that wait for each other get a {@link MismatchException}; a backend whose
 * library compares nothing may give wrong data where no rank waits, as its page in the
 * documentation says. Roots and peers are ranks of this group. Tensors may be read and written
 * again when the work is complete. Lists and arrays of splits are read once, before a method
 * returns, and are the caller's again then.
 *
 * <p>Safe for use by several threads of a rank, though their order is then the program's business.
 * Several groups, also of several ranks, can live in one process where the backend allows it.
 *
 * <p>Any failure of an operation but a {@link UsageException} ends the group: what runs and what is
 * called later fails with the first cause. Making groups and the monitored barrier go over the
 * store; when they fail, this group stays as it was. Every operation has the group's timeout as
 * deadline.
 *
 * <p>All methods throw a {@link UsageException} for arguments that are null, of the wrong type,
 * size, rank or device, closed, or overlapping, and a {@link GroupAbortedException} on a failed
 * group.
 *
 * <p>Programs do not implement this interface: later versions may add methods.
 */
public interface ProcessGroup extends AutoCloseable {

    /**
     * Joins the world as the launcher's environment says ({@code env://}), with default options.
     *
     * @param backend for instance {@code gloo}, or {@code cpu:gloo,cuda:nccl}; in any case
     * @return this process's group of all ranks
     * @throws BootstrapException when the environment does not say who and where the ranks are
     * @throws BackendUnavailableException when the backend can not be used here
     * @throws JcclException when the other ranks do not arrive in time
     */
    static ProcessGroup init(String backend) {
        return builder().backend(backend).build();
    }

    /**
     * Joins the world with options.
     *
     * @return a builder with all defaults
     */
    static ProcessGroupBuilder builder() {
        return Implementation.get().processGroupBuilder();
    }

    /**
     * This process's rank.
     *
     * @return from 0
     */
    int rank();

    /**
     * World size of this group.
     *
     * @return number of ranks
     */
    int size();

    /**
     * Name of the group, the same on all its ranks and unique in the job.
     *
     * @return the name
     */
    String name();

    /**
     * Ranks of this group's members in the world, by rank in this group.
     *
     * @return as many ranks as this group has
     */
    List<Integer> worldRanks();

    /**
     * Backend of a device type.
     *
     * @param deviceType for instance {@code cpu}
     * @return its name, or empty when the group takes no such tensors
     */
    Optional<String> backend(String deviceType);

    /**
     * The devices whose tensors this rank may give to the group's operations, one of each type.
     *
     * @return at least one; barriers use the first
     */
    List<Device> devices();

    /**
     * The same operations in the caller's own order: on host backends each returns when it is done.
     *
     * @return a view of this group
     */
    SyncCollectives sync();

    /**
     * Copies root's elements to all ranks.
     *
     * @param tensor in on the root, out elsewhere; the same count and type on all ranks
     * @param root rank that sends
     * @return the work
     */
    Work broadcast(Tensor tensor, int root);

    /**
     * Copies root's elements of several tensors to all ranks, as PyTorch's coalesced form: one
     * message of them all on host backends, one group of calls on devices.
     *
     * @param tensors in on the root, out elsewhere; at least one, of one type on one device, and
     *     the same counts in the same order on all ranks, which is not compared beyond their sum
     * @param root rank that sends
     * @return the work of all of them
     */
    Work broadcast(List<Tensor> tensors, int root);

    /**
     * Reduces in place; all ranks get the same bits.
     *
     * @param tensor in and out; the same count and type on all ranks
     * @param op how to combine
     * @return the work
     */
    Work allReduce(Tensor tensor, ReduceOp op);

    /**
     * Reduces several tensors in place, each by itself, as PyTorch's {@code all_reduce_coalesced}:
     * one message of them all on host backends, through memory of the group that is as large as
     * they are together; one group of calls on devices. Tensors that are slices of one tensor, one
     * after the other, save the copies.
     *
     * @param tensors in and out; at least one, of one type on one device, none overlapping another,
     *     and the same counts in the same order on all ranks, which is not compared beyond their
     *     sum
     * @param op how to combine
     * @return the work of all of them
     */
    Work allReduce(List<Tensor> tensors, ReduceOp op);

    /**
     * Reduces to the root, in place there. Other ranks' tensors are not changed.
     *
     * @param tensor in, and out on the root
     * @param root rank that gets the result
     * @param op how to combine
     * @return the work
     */
    Work reduce(Tensor tensor, int root, ReduceOp op);

    /**
     * Collects every rank's tensor on all ranks. Ranks' tensors may differ in size.
     *
     * @param outputs one tensor a rank, as large as that rank's input; slices of one tensor in rank
     *     order save a copy
     * @param input this rank's elements; may be {@code outputs.get(rank())}
     * @return the work
     */
    Work allGather(List<Tensor> outputs, Tensor input);

    /**
     * Collects every rank's tensor into one on all ranks.
     *
     * @param output world size times the input's count
     * @param input this rank's elements; may be its own part of {@code output}
     * @return the work
     */
    Work allGatherSingle(Tensor output, Tensor input);

    /**
     * As {@link #allGatherSingle(Tensor, Tensor)} of several tensors, each by itself, as PyTorch's
     * {@code all_gather_into_tensor_coalesced}; how they go is said at {@link #allReduce(List,
     * ReduceOp)}.
     *
     * @param outputs for each input world size times its count
     * @param inputs this rank's elements; at least one, of one type on one device, and the same
     *     counts in the same order on all ranks, which is not compared beyond their sum; each may
     *     be its own part of its output
     * @return the work of all of them
     */
    Work allGatherSingle(List<Tensor> outputs, List<Tensor> inputs);

    /**
     * Collects every rank's tensor on the root.
     *
     * @param outputs on the root one tensor a rank, each as large as the input; an empty list
     *     elsewhere
     * @param input this rank's elements
     * @param root rank that gets them
     * @return the work
     */
    Work gather(List<Tensor> outputs, Tensor input, int root);

    /**
     * Deals the root's tensors out, one a rank.
     *
     * @param output this rank's elements
     * @param inputs on the root one tensor a rank, each as large as the output; an empty list
     *     elsewhere
     * @param root rank that sends
     * @return the work
     */
    Work scatter(Tensor output, List<Tensor> inputs, int root);

    /**
     * Reduces the ranks' lists tensor by tensor and leaves result i to rank i. Tensors of one list
     * may differ in size.
     *
     * @param output this rank's result, as large as {@code inputs.get(rank())}
     * @param inputs one tensor a rank; not changed
     * @param op how to combine
     * @return the work
     */
    Work reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op);

    /**
     * Reduces, and leaves part i of the result to rank i.
     *
     * @param output this rank's part
     * @param input world size times the output's count; not changed
     * @param op how to combine
     * @return the work
     */
    Work reduceScatterSingle(Tensor output, Tensor input, ReduceOp op);

    /**
     * As {@link #reduceScatterSingle(Tensor, Tensor, ReduceOp)} of several tensors, each by itself,
     * as PyTorch's {@code reduce_scatter_tensor_coalesced}; how they go is said at {@link
     * #allReduce(List, ReduceOp)}.
     *
     * @param outputs this rank's part of each; at least one, of one type on one device, and the
     *     same counts in the same order on all ranks, which is not compared beyond their sum
     * @param inputs for each output world size times its count; not changed
     * @param op how to combine
     * @return the work of all of them
     */
    Work reduceScatterSingle(List<Tensor> outputs, List<Tensor> inputs, ReduceOp op);

    /**
     * Sends input i to rank i, where it becomes output number {@code rank()}. Sizes may all differ.
     *
     * @param outputs one tensor a rank
     * @param inputs one tensor a rank; not changed
     * @return the work
     */
    Work allToAll(List<Tensor> outputs, List<Tensor> inputs);

    /**
     * Sends part i of the input to rank i, all parts being equal.
     *
     * @param output as large as the input, not the same memory
     * @param input a multiple of the world size; not changed
     * @return the work
     */
    Work allToAllSingle(Tensor output, Tensor input);

    /**
     * Sends part i of the input to rank i, parts as the splits say.
     *
     * @param output sum of {@code outputSplits} elements, not the input's memory
     * @param input sum of {@code inputSplits} elements; not changed
     * @param outputSplits elements from each rank: what that rank sends to this one
     * @param inputSplits elements for each rank
     * @return the work
     */
    Work allToAllSingle(Tensor output, Tensor input, long[] outputSplits, long[] inputSplits);

    /**
     * Sends to a peer, with tag 0.
     *
     * @param tensor elements to send
     * @param peer another rank
     * @return the work; dropping it does not stop the message
     */
    Work send(Tensor tensor, int peer);

    /**
     * Sends to a peer. Messages between two ranks with one tag arrive in the order they were sent.
     *
     * @param tensor elements to send
     * @param peer another rank
     * @param tag not negative; must match the receiver's
     * @return the work; dropping it does not stop the message
     */
    Work send(Tensor tensor, int peer, int tag);

    /**
     * Receives from a peer, with tag 0.
     *
     * @param tensor where to; count and type must be the sender's
     * @param peer another rank
     * @return the work
     */
    Work recv(Tensor tensor, int peer);

    /**
     * Receives from a peer.
     *
     * @param tensor where to; count and type must be the sender's
     * @param peer another rank
     * @param tag not negative; must match the sender's
     * @return the work
     */
    Work recv(Tensor tensor, int peer, int tag);

    /**
     * Receives from whoever sends first with tag 0; {@link Work#sourceRank()} tells who it was.
     *
     * @param tensor where to; count and type must be the sender's
     * @return the work
     */
    Work recvAnySource(Tensor tensor);

    /**
     * Receives from whoever sends first; {@link Work#sourceRank()} tells who it was.
     *
     * @param tensor where to; count and type must be the sender's
     * @param tag not negative; must match the sender's
     * @return the work
     */
    Work recvAnySource(Tensor tensor, int tag);

    /**
     * Completes when all ranks have reached it and the collectives this rank issued before are
     * done. It is of the first of {@link #devices()}: where a group has several, it does not wait
     * for collectives on the others, nor tell of their failures.
     *
     * @return the work
     */
    Work barrier();

    /**
     * A barrier over the store that tells which ranks are missing. Blocks. Slower than {@link
     * #barrier}; for set-up and debugging.
     *
     * @param timeout how long rank 0 waits for the others; they wait up to twice as long, since
     *     rank 0 may come last. A store that does not answer is found ten seconds after the timeout
     * @param waitAllRanks true to name all missing ranks, false to fail at the first
     * @throws OperationTimeoutException on every rank that called it when ranks are missing, and
     *     names them; the group stays as it was
     * @throws UsageException when the timeout is null, negative or more than a day, or the group
     *     has no store
     */
    void monitoredBarrier(Duration timeout, boolean waitAllRanks);

    /**
     * Collects operations to issue together.
     *
     * @return an empty batch
     */
    Batch batch();

    /**
     * Makes a group of some of this group's ranks. Members call it, in the same order among
     * themselves; on other ranks it returns at once with nothing. The order of {@code ranks} is the
     * order in the new group.
     *
     * <p>In a world of {@link Interop#TORCH} it is called for the world, by every rank of it, and
     * the ranks are in ascending order.
     *
     * @param ranks ranks of this group, each at most once
     * @return the new group, to be closed by the caller; empty when this rank is not in it
     * @throws UsageException when a rank is out of range or given twice, the list is empty, or
     *     PyTorch could not make this group
     * @throws JcclException when members do not arrive in time
     */
    Optional<ProcessGroup> newGroup(List<Integer> ranks);

    /**
     * Divides this group: ranks that give the same color form a new group, ordered by key and,
     * where keys are equal, by rank. All ranks of this group call it.
     *
     * @param color not negative to take part; negative to be in no new group
     * @param key place in the new group
     * @return the new group, to be closed by the caller; empty for a negative color
     * @throws UsageException when the group has no store
     * @throws JcclException when ranks do not arrive in time
     */
    Optional<ProcessGroup> split(int color, int key);

    /**
     * Goes on with the ranks that are left, in the same processes, after others were lost: the
     * ranks that call it agree over the store on who they are, and form a new group, in the order
     * that they have here. What {@code shrink_group} is to PyTorch, but nobody has to know who is
     * missing. Blocks.
     *
     * <p>This group is aborted where it has not failed yet, and its operations fail; it stays to be
     * closed, after the new group. A rank that is lost while the new group is being formed is left
     * out too. What the ranks hold in memory is theirs to put right: a collective that failed may
     * have changed its tensors on some ranks only. Of a device's streams, the calling thread's
     * current one may be used as if nothing had been; others throw the failure once.
     *
     * <p>It needs a store that outlives the lost ranks: that of a launcher, or of rank 0 as long as
     * rank 0 is left. Gloo, NCCL and HCCL form a communicator anew, as for the world; NCCL's {@code
     * ncclCommShrink} would need the old one, which the failure has aborted. MPI and SCCL can not
     * go on without a lost rank.
     *
     * @param patience how long to wait for ranks that do not call it, more than zero and at most a
     *     day. Longer than ranks need to notice a failure, or some are left out. Those that are
     *     left may take twice as long to form the group, and at least 10 seconds
     * @return the new group, to be closed by the caller; it may have as many ranks as this one, or
     *     this rank alone
     * @throws UsageException when the backend can not, the patience is out of range, the group is
     *     closed, or has no store or ranks of PyTorch
     * @throws GroupAbortedException when the others went on without this rank, which came too late
     * @throws StoreException when the store is gone
     * @throws OperationTimeoutException when no group came about in the group's timeout
     */
    ProcessGroup shrink(Duration patience);

    /**
     * Stops everything that runs on this group, now, and makes later calls fail. Other ranks'
     * operations that depend on this rank fail too. Safe from any thread; returns at once. Close
     * the group afterwards.
     */
    void abort();

    /**
     * Waits for what was issued, then leaves the group. Collectives are waited for up to the
     * group's timeout, and so are a device's messages that were awaited or synchronous, since they
     * may still be on their way. Other messages, which may have no partner, are waited for until
     * none has ended for a second. What is left is aborted. Idempotent, and safe while other
     * threads are inside: they return or fail first. Close sub-groups before their parent. Not a
     * barrier, but the rank that serves the world's store (rank 0, unless a launcher does) waits up
     * to three seconds for the others to close, so that they can still read what it wrote.
     */
    @Override
    void close();

    /** For instance {@code group 'world', rank 1 of 4}. */
    @Override
    String toString();
}
