package org.jccl;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A group of ranks that communicate. Every method that returns a {@link Work} only issues an
 * operation. {@link #sync()} has the same operations without a {@code Work}: on host backends they
 * block until they are complete; on device backends the result is ready for later work on the
 * current stream.
 *
 * <p>All ranks of a group must issue the same collectives in the same order with matching
 * arguments. Ranks that disagree and wait for each other get a {@link MismatchException}. If no
 * rank waits and the library of the backend does not compare calls, results may be wrong. The page
 * of the backend says whether this can happen; {@link ProcessGroupBuilder#checkCalls} detects it.
 * Roots and peers are ranks of this group. Tensors may be read and written again when the work is
 * complete. Lists and arrays of splits are copied before a method returns.
 *
 * <p>Thread-safe. If several threads of a rank issue operations, the program must ensure their
 * order. One process can have several groups, and even several ranks, if the backend supports it.
 *
 * <p>Any failure of an operation except a {@link UsageException} ends the group: operations in
 * flight and later calls fail with the first cause. The methods that make groups, and the monitored
 * barrier, use the store. If they fail, this group stays usable. The timeout of the group is the
 * deadline of every operation, except those of {@link #sync(Duration)}.
 *
 * <p>All methods throw a {@link UsageException} if an argument is null, closed, overlapping, or of
 * the wrong type, size, rank or device, and a {@link GroupAbortedException} if the group has
 * failed.
 *
 * <p>Programs must not implement this interface: later versions may add methods.
 */
public interface ProcessGroup extends AutoCloseable {

    /**
     * Joins the world that the environment of the launcher describes ({@code env://}), with default
     * options.
     *
     * @param backend for instance {@code gloo}, or {@code cpu:gloo,cuda:nccl}; case is ignored
     * @return the group of all ranks
     * @throws BootstrapException if the environment does not define the ranks
     * @throws BackendUnavailableException if the backend cannot be used here
     * @throws JcclException if the other ranks do not arrive in time
     */
    static ProcessGroup init(String backend) {
        return builder().backend(backend).build();
    }

    /**
     * Makes a world of this rank alone, which needs no launcher, store or port: for JShell,
     * notebooks and unit tests. Variables of a launcher are not read. The same as a builder with
     * rank 0 of world size 1, and neither a store nor an init method.
     *
     * @param backend for instance {@code gloo}, or {@code cpu:gloo,cuda:nccl}; case is ignored
     * @return the group of one rank
     * @throws BackendUnavailableException if the backend cannot be used here
     */
    static ProcessGroup single(String backend) {
        return builder().backend(backend).rank(0).worldSize(1).build();
    }

    /**
     * Joins a world with options.
     *
     * @return a builder with default values
     */
    static ProcessGroupBuilder builder() {
        return Implementation.get().processGroupBuilder();
    }

    /**
     * Returns the rank of this process.
     *
     * @return from 0
     */
    int rank();

    /**
     * Returns the number of ranks.
     *
     * @return at least 1
     */
    int size();

    /**
     * Returns the name of the group, the same on all its ranks and unique in the job.
     *
     * @return the name
     */
    String name();

    /**
     * Returns the ranks of the members in the world, by rank in this group.
     *
     * @return as many ranks as this group has
     */
    List<Integer> worldRanks();

    /**
     * Returns the backend of a device type.
     *
     * @param deviceType for instance {@code cpu}
     * @return its name, or empty if the group takes no such tensors
     */
    Optional<String> backend(String deviceType);

    /**
     * Returns whether an average of {@code FLOAT16} or {@code BFLOAT16} on these devices is finite
     * even if the sum is not, because the backend multiplies each input before it adds. Otherwise,
     * divide such inputs first and use {@link ReduceOp#SUM}.
     *
     * @param deviceType the type of a device, see {@link Device#type()}
     * @return true for NCCL and HCCL; false for other backends and without a backend
     * @throws UsageException if the device type is null
     */
    boolean scalesAverages(String deviceType);

    /**
     * Returns the devices whose tensors this rank may pass to the operations, one of each type.
     *
     * @return at least one. Barriers use the first, unless ranks of another API use another device
     *     for theirs
     */
    List<Device> devices();

    /**
     * Returns the same operations for synchronous use. On host backends, each call returns when the
     * operation is complete. On device backends, it is ordered on the current stream.
     *
     * @return a view of this group
     */
    SyncCollectives sync();

    /**
     * Returns the same operations as {@link #sync()} with their own timeout instead of the group's.
     * For instance, a worker that waits in a broadcast for the next request needs a long one. If
     * the backend notices lost peers, the wait still ends at once when a rank that this one waits
     * for is lost, or a rank that had waited in the same collective for half a second. A host that
     * vanishes is not noticed. Each rank has its own timeout, which other ranks do not know.
     *
     * <p>An operation may exceed its timeout by up to 0.25 s. On a device, the timeout of the
     * newest call applies to all incomplete calls of a stream. Synchronize the stream before the
     * next call with another timeout. A group that is being closed aborts operations that are older
     * than its own timeout.
     *
     * @param timeout more than zero; more than a year, for instance {@code
     *     ChronoUnit.FOREVER.getDuration()}, counts as a year
     * @return a view of this group; cheap, and may be kept
     * @throws UsageException if the timeout is null, zero or negative
     */
    SyncCollectives sync(Duration timeout);

    /**
     * Copies the elements of the root to all ranks.
     *
     * @param tensor input on the root, output elsewhere; the same count and type on all ranks
     * @param root the rank that sends
     * @return the work
     */
    @CheckReturnValue
    Work broadcast(Tensor tensor, int root);

    /**
     * Copies the elements of several tensors of the root to all ranks, like PyTorch's coalesced
     * form. Host backends send one message for all tensors; device backends use one group of calls.
     *
     * @param tensors input on the root, output elsewhere; at least one, of one type on one device.
     *     All ranks must pass the same counts in the same order. Only the sum of the counts is
     *     checked
     * @param root the rank that sends
     * @return the work of all tensors
     */
    @CheckReturnValue
    Work broadcast(List<Tensor> tensors, int root);

    /**
     * Reduces in place. All ranks get the same bits.
     *
     * @param tensor input and output; the same count and type on all ranks
     * @param op how to combine the elements
     * @return the work
     */
    @CheckReturnValue
    Work allReduce(Tensor tensor, ReduceOp op);

    /**
     * Reduces several tensors in place, each separately, like PyTorch's {@code
     * all_reduce_coalesced}. Host backends copy all tensors to memory of the group and send one
     * message; adjacent slices of one tensor need no copy. Device backends use one group of calls.
     *
     * @param tensors input and output; at least one, of one type on one device, without overlap.
     *     All ranks must pass the same counts in the same order. Only the sum of the counts is
     *     checked
     * @param op how to combine the elements
     * @return the work of all tensors
     */
    @CheckReturnValue
    Work allReduce(List<Tensor> tensors, ReduceOp op);

    /**
     * Reduces to the root, in place there. The tensors of other ranks are not changed.
     *
     * @param tensor input; output on the root
     * @param root the rank that gets the result
     * @param op how to combine the elements
     * @return the work
     */
    @CheckReturnValue
    Work reduce(Tensor tensor, int root, ReduceOp op);

    /**
     * Collects the tensors of all ranks on all ranks. They may differ in size.
     *
     * @param outputs one tensor for each rank, as large as the input of that rank; adjacent slices
     *     of one tensor, in rank order, save a copy
     * @param input the elements of this rank; may be {@code outputs.get(rank())}
     * @return the work
     */
    @CheckReturnValue
    Work allGather(List<Tensor> outputs, Tensor input);

    /**
     * Collects the tensors of all ranks in one tensor on all ranks.
     *
     * @param output world size times the count of the input
     * @param input the elements of this rank; may be its own part of {@code output}
     * @return the work
     */
    @CheckReturnValue
    Work allGatherSingle(Tensor output, Tensor input);

    /**
     * Gathers several tensors, each as {@link #allGatherSingle(Tensor, Tensor)} does, like
     * PyTorch's {@code all_gather_into_tensor_coalesced}. See {@link #allReduce(List, ReduceOp)}
     * for how they are sent.
     *
     * @param outputs one for each input, with world size times its count
     * @param inputs the elements of this rank; at least one, of one type on one device. All ranks
     *     must pass the same counts in the same order. Only the sum of the counts is checked. Each
     *     may be its own part of its output
     * @return the work of all tensors
     */
    @CheckReturnValue
    Work allGatherSingle(List<Tensor> outputs, List<Tensor> inputs);

    /**
     * Collects the tensors of all ranks on the root.
     *
     * @param outputs on the root one tensor for each rank, each as large as the input; an empty
     *     list elsewhere
     * @param input the elements of this rank; on the root it may be {@code outputs.get(root)}
     * @param root the rank that gets them
     * @return the work
     */
    @CheckReturnValue
    Work gather(List<Tensor> outputs, Tensor input, int root);

    /**
     * Distributes the tensors of the root, one to each rank.
     *
     * @param output the elements of this rank; on the root it may be {@code inputs.get(root)}
     * @param inputs on the root one tensor for each rank, each as large as the output; an empty
     *     list elsewhere
     * @param root the rank that sends
     * @return the work
     */
    @CheckReturnValue
    Work scatter(Tensor output, List<Tensor> inputs, int root);

    /**
     * Reduces the lists of all ranks tensor by tensor. Rank i gets result i. The tensors of a list
     * may differ in size.
     *
     * @param output the result of this rank, as large as {@code inputs.get(rank())}; may be that
     *     tensor
     * @param inputs one tensor for each rank; not changed except for the output
     * @param op how to combine the elements
     * @return the work
     */
    @CheckReturnValue
    Work reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op);

    /**
     * Reduces a tensor. Rank i gets part i of the result.
     *
     * @param output the part of this rank; may be its own part of {@code input}
     * @param input world size times the count of the output; not changed except for the output
     * @param op how to combine the elements
     * @return the work
     */
    @CheckReturnValue
    Work reduceScatterSingle(Tensor output, Tensor input, ReduceOp op);

    /**
     * Reduces several tensors, each as {@link #reduceScatterSingle(Tensor, Tensor, ReduceOp)} does,
     * like PyTorch's {@code reduce_scatter_tensor_coalesced}. See {@link #allReduce(List,
     * ReduceOp)} for how they are sent.
     *
     * @param outputs this rank's part of each result; at least one, of one type on one device. All
     *     ranks must pass the same counts in the same order. Only the sum of the counts is checked.
     *     Each may be its own part of its input
     * @param inputs one for each output, with world size times its count; not changed except for
     *     the output
     * @param op how to combine the elements
     * @return the work of all tensors
     */
    @CheckReturnValue
    Work reduceScatterSingle(List<Tensor> outputs, List<Tensor> inputs, ReduceOp op);

    /**
     * Sends input i to rank i, where it becomes output {@code rank()}. All sizes may differ.
     *
     * @param outputs one tensor for each rank; each may be the input for that rank, which costs a
     *     copy of the inputs
     * @param inputs one tensor for each rank; not changed except for the outputs
     * @return the work
     */
    @CheckReturnValue
    Work allToAll(List<Tensor> outputs, List<Tensor> inputs);

    /**
     * Sends part i of the input to rank i. All parts are equal.
     *
     * @param output as large as the input; may be the input, which costs a copy of it
     * @param input a multiple of the world size; not changed unless it is the output
     * @return the work
     */
    @CheckReturnValue
    Work allToAllSingle(Tensor output, Tensor input);

    /**
     * Sends part i of the input to rank i. The splits give the sizes of the parts.
     *
     * @param output as many elements as the sum of {@code outputSplits}; may begin where the input
     *     does, which costs a copy of the input
     * @param input as many elements as the sum of {@code inputSplits}; not changed outside the
     *     output
     * @param outputSplits elements from each rank; must equal what that rank sends to this one
     * @param inputSplits elements for each rank
     * @return the work
     */
    @CheckReturnValue
    Work allToAllSingle(Tensor output, Tensor input, long[] outputSplits, long[] inputSplits);

    /**
     * Sends to a peer, with tag 0.
     *
     * @param tensor the elements to send
     * @param peer another rank
     * @return the work; dropping it does not stop the message
     */
    @CheckReturnValue
    default Work send(Tensor tensor, int peer) {
        return send(tensor, peer, 0);
    }

    /**
     * Sends to a peer. Messages between two ranks with one tag arrive in the order in which they
     * were sent.
     *
     * @param tensor the elements to send
     * @param peer another rank
     * @param tag not negative; must match the tag of the receiver
     * @return the work; dropping it does not stop the message
     */
    @CheckReturnValue
    Work send(Tensor tensor, int peer, int tag);

    /**
     * Receives from a peer, with tag 0.
     *
     * @param tensor where to store the elements; count and type must match the sender
     * @param peer another rank
     * @return the work
     */
    @CheckReturnValue
    default Work recv(Tensor tensor, int peer) {
        return recv(tensor, peer, 0);
    }

    /**
     * Receives from a peer.
     *
     * @param tensor where to store the elements; count and type must match the sender
     * @param peer another rank
     * @param tag not negative; must match the tag of the sender
     * @return the work
     */
    @CheckReturnValue
    Work recv(Tensor tensor, int peer, int tag);

    /**
     * Receives from the rank that sends first with tag 0. {@link Work#sourceRank()} returns the
     * sender.
     *
     * @param tensor where to store the elements; count and type must match the sender
     * @return the work
     */
    @CheckReturnValue
    default Work recvAnySource(Tensor tensor) {
        return recvAnySource(tensor, 0);
    }

    /**
     * Receives from the rank that sends first. {@link Work#sourceRank()} returns the sender.
     *
     * @param tensor where to store the elements; count and type must match the sender
     * @param tag not negative; must match the tag of the sender
     * @return the work
     */
    @CheckReturnValue
    Work recvAnySource(Tensor tensor, int tag);

    /**
     * Completes when all ranks have called it and the earlier collectives of this rank are
     * complete. It applies to the first of {@link #devices()}. It neither waits for collectives on
     * other devices nor reports their failures.
     *
     * @return the work
     */
    @CheckReturnValue
    Work barrier();

    /**
     * Blocks at a barrier over the store that reports missing ranks. It is slower than {@link
     * #barrier}; use it for set-up and debugging. All ranks must call it equally often: the
     * <i>n</i>th call of a rank meets the <i>n</i>th calls of the others. A rank whose call comes
     * after the others have given up on it throws their exception at once. A rank that skips a call
     * therefore stays one behind.
     *
     * @param timeout how long rank 0 waits for the others. They wait up to twice as long, because
     *     rank 0 may arrive last. A store that does not answer is detected ten seconds after the
     *     timeout
     * @param waitAllRanks true to name all missing ranks, false to fail at the first
     * @throws OperationTimeoutException on every rank that called it, if ranks are missing; the
     *     message names them. The group stays usable
     * @throws GroupAbortedException if the group has failed, or fails on any rank while this one
     *     waits (detected within seconds)
     * @throws UsageException if the timeout is null, negative or more than a day, or the group has
     *     no store
     */
    void monitoredBarrier(Duration timeout, boolean waitAllRanks);

    /**
     * Registers the memory of a tensor with the library of its device, so that operations can use
     * it without a copy. The registration ends when the memory is freed or the group is closed.
     * Registering the memory again has no effect. The page of the backend says which memory can be
     * registered, and whether all ranks must call this method.
     *
     * @param tensor a tensor; all of the memory that it is a part of is registered
     * @throws UsageException if the library does not register memory, is too old, or does not take
     *     this memory
     * @throws JcclException if registering fails
     */
    void register(Tensor tensor);

    /**
     * Allocates a tensor for operations of this group. If the options of the backend request
     * registered memory, the memory is registered as by {@link #register}. Otherwise this is the
     * same as {@link Tensor#allocate}.
     *
     * @param device a device of this group
     * @param dataType the type of the elements
     * @param count the number of elements
     * @return the tensor, which the caller closes, before or after the group
     * @throws UsageException if an argument is out of range, or the group has no such device
     * @throws JcclException if there is no memory, or registering it fails
     */
    Tensor allocate(Device device, DataType dataType, long count);

    /**
     * Creates a batch of operations that are issued together.
     *
     * @return an empty batch
     */
    Batch batch();

    /**
     * Makes a group of some ranks of this group. All members must call it. Ranks that share several
     * new groups must make them in the same order. On other ranks it returns empty at once. The
     * order of {@code ranks} is the order in the new group.
     *
     * <p>In a world of {@link Interop#TORCH}, every rank of the world must call it on the world,
     * with ranks in ascending order.
     *
     * @param ranks ranks of this group, each at most once
     * @return the new group, which the caller closes; empty if this rank is not a member
     * @throws UsageException if a rank is out of range or given twice, the list is empty, or
     *     PyTorch could not make this group
     * @throws JcclException if members do not arrive in time
     */
    Optional<ProcessGroup> newGroup(List<Integer> ranks);

    /**
     * Makes a group as {@link #newGroup(List)} does, with other options of a backend. All members
     * must pass the same options.
     *
     * @param ranks ranks of this group, each at most once
     * @param options of a backend of this group. Without them, the new group has those of this one
     * @return the new group, which the caller closes; empty if this rank is not a member
     * @throws UsageException if this group has no such backend, the backend rejects the options, or
     *     under the conditions of {@link #newGroup(List)}
     * @throws JcclException if members do not arrive in time
     */
    Optional<ProcessGroup> newGroup(List<Integer> ranks, BackendOptions options);

    /**
     * Divides this group: ranks with the same color form a new group, ordered by key and then by
     * rank. All ranks of this group must call it.
     *
     * @param color the new group of this rank; negative for no group
     * @param key determines the order in the new group
     * @return the new group, which the caller closes; empty for a negative color
     * @throws UsageException if the group has no store
     * @throws JcclException if ranks do not arrive in time
     */
    Optional<ProcessGroup> split(int color, int key);

    /**
     * Divides this group as {@link #split(int, int)} does, with other options of a backend. All
     * ranks of one color must pass the same options.
     *
     * @param color the new group of this rank; negative for no group
     * @param key determines the order in the new group
     * @param options of a backend of this group. Without them, the new group has those of this one
     * @return the new group, which the caller closes; empty for a negative color
     * @throws UsageException if this group has no such backend, the backend rejects the options, or
     *     the group has no store
     * @throws JcclException if ranks do not arrive in time
     */
    Optional<ProcessGroup> split(int color, int key, BackendOptions options);

    /**
     * Continues with the remaining ranks, in the same processes, after others were lost. The
     * calling ranks agree on the members over the store, and form a new group in the same order.
     * This is PyTorch's {@code shrink_group}, except that no rank needs to know which ranks are
     * missing. Blocks.
     *
     * <p>If this group has not failed yet, it is aborted. The caller closes it after the new group.
     * A rank that is lost while the new group forms is excluded as well. On a device, the current
     * stream of the calling thread stays usable; other streams throw the failure once.
     *
     * <p>The collective that failed on one rank may be complete on another, so that ranks are one
     * step apart. The program must agree on the step, for instance with an all_reduce and {@code
     * MIN} in the new group, and restore the tensors. Otherwise ranks add values of different
     * steps.
     *
     * <p>The store must outlive the lost ranks: a launcher or a surviving rank 0 must serve it.
     * Gloo, NCCL and HCCL form a new communicator. MPI and SCCL cannot continue without a lost
     * rank.
     *
     * @param gracePeriod how long to wait for ranks that do not call it, more than zero and at most
     *     a day. It must exceed the time in which ranks notice a failure; otherwise some are
     *     excluded. The remaining ranks may take twice as long to form the group, and at least 10
     *     seconds
     * @return the new group, which the caller closes; it may have all ranks, or only this one
     * @throws UsageException if the backend does not support it, the grace period is out of range,
     *     the group is closed or has no store, or the world has ranks of PyTorch
     * @throws GroupAbortedException if the others continued without this rank, because it arrived
     *     too late
     * @throws StoreException if the store was lost
     * @throws OperationTimeoutException if no group was formed within the timeout of the group
     */
    ProcessGroup shrink(Duration gracePeriod);

    /**
     * Forms the next generation of a world from the remaining ranks of this one, restarted ranks
     * and new ranks. All ranks of this generation must call it, after a failure or after {@link
     * #hasNewcomers} returned true on one of them. Blocks. This is PyTorch's {@code reconfigure},
     * except that ranks exchange no handles: they find each other over the store.
     *
     * <p>If this generation has not failed yet, it is aborted. The caller closes it after the new
     * one. The members are decided once for all ranks: when all ranks of the world have arrived, or
     * when one has waited for {@code patience} and enough ranks are present. At least one member is
     * from this generation, unless all of its ranks were replaced. So newcomers never continue
     * without the state of the remaining ranks. A rank that arrives too late waits for the
     * generation after that; {@code hasNewcomers} reports it to the others. If a rank is lost while
     * the group forms, the group forms again.
     *
     * <p>Sub-groups, registrations of memory, and objects that use this group, such as reducers,
     * end with it: the program must make them again. Tensors remain valid. The program must also
     * send its state to newcomers, see {@code org.jccl.training}. As with {@link #shrink}, ranks
     * may be one step apart and must agree on the step; streams behave as there. On a device, this
     * method waits up to ten seconds for the communicator of this generation to end.
     *
     * @param patience how long to wait for missing ranks, more than zero and at most a day. It
     *     should exceed the time that a process needs to restart, unless the others should continue
     *     without that process
     * @return the next generation, which the caller closes
     * @throws UsageException if the world was not built with {@link
     *     ProcessGroupBuilder#reconfigurable}, the backend does not support it, the time is out of
     *     range, the group is closed, or another generation has followed this one
     * @throws GroupAbortedException if another process took the rank of this one
     * @throws StoreException if the store was lost
     * @throws OperationTimeoutException if no generation was formed within {@code patience} and the
     *     timeout of the group together
     */
    ProcessGroup reconfigure(Duration patience);

    /**
     * Returns the number of this generation of a {@linkplain ProcessGroupBuilder#reconfigurable
     * reconfigurable} world. It is the same on all members. Later generations have larger numbers,
     * not necessarily consecutive ones.
     *
     * @return from 0; 0 for other groups
     */
    int generation();

    /**
     * Returns whether ranks wait for the next generation of this world. Sends one request to the
     * store. The result may differ between ranks, so they must agree on it, for instance with an
     * all_reduce and {@code MAX}.
     *
     * @return true if {@link #reconfigure} would find waiting ranks
     * @throws UsageException if the world was not built with {@link
     *     ProcessGroupBuilder#reconfigurable}
     * @throws StoreException if the store was lost
     */
    boolean hasNewcomers();

    /**
     * Returns why this group cannot be used any more. Sends nothing and does not wait, so a failure
     * that this rank has not noticed yet is missing.
     *
     * @return the first failure; empty while the group is usable, and if it was closed without one
     */
    Optional<JcclException> failure();

    /**
     * Aborts all operations of this group and makes later calls fail. Operations of other ranks
     * that depend on this rank also fail. Any thread may call it; it returns at once. The caller
     * must still close the group.
     *
     * <p>MPI cannot cancel a collective. If a thread is inside one that it called through {@link
     * #sync}, the job ends within seconds, with the exit code of this failure.
     */
    void abort();

    /**
     * Waits for issued operations, then leaves the group. It waits up to the timeout of the group
     * for collectives, and for device messages that were awaited or synchronous. Other messages may
     * have no partner, so it stops waiting for them when none has completed for a second. Remaining
     * operations are aborted. Idempotent. Calls of other threads return or fail first. Sub-groups
     * must be closed before their parent. A parent closes its open sub-groups first, and logs a
     * warning. This is not a barrier. But the rank that serves the world's store (rank 0, unless a
     * launcher does) waits up to three seconds for the others, so that they can read its last
     * values.
     */
    @Override
    void close();
}
