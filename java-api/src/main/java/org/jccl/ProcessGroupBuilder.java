package org.jccl;

import java.time.Duration;

/**
 * The options of a world. A builder is used once. The defaults are {@code env://}, the best backend
 * for each type of device of the host, and ten minutes. Every method throws a {@link
 * UsageException} for null.
 *
 * <p>Programs must not implement this interface: later versions may add methods.
 */
public interface ProcessGroupBuilder {

    /** The default deadline of an operation. */
    Duration DEFAULT_TIMEOUT = Duration.ofMinutes(10);

    /**
     * Sets the backend, or one backend for each device type. Some backends for host memory also
     * take tensors of devices, as in {@code cuda:gloo}. They are copied through host memory, and
     * {@link Work#await()} blocks until the result is on the device.
     *
     * <p>Without this setting, the group gets the best backend that is present for each type of
     * device, or only for the CPU and the type of {@link #device}. It logs which. In a world with
     * ranks of another API, it gets one backend, as those ranks do: that of the accelerator, or
     * else that of the CPU. Such ranks may have further names for a backend, see {@link Interop}.
     *
     * @param names one name, or pairs {@code device:name} separated by commas; case is ignored
     * @return this builder
     */
    ProcessGroupBuilder backend(String names);

    /**
     * Sets how ranks find each other.
     *
     * @param url {@code env://}, {@code tcp://host:port?rank=..&world_size=..} or {@code
     *     file:///path?...}
     * @return this builder
     */
    ProcessGroupBuilder initMethod(String url);

    /**
     * Sets a store that all ranks can reach, instead of an init method. {@link #rank} and {@link
     * #worldSize} are then required.
     *
     * @param shared the store; stays open when the group is closed
     * @return this builder
     */
    ProcessGroupBuilder store(Store shared);

    /**
     * Sets the rank of this process, if the init method does not.
     *
     * @param value from 0
     * @return this builder
     * @throws UsageException if it is negative
     */
    ProcessGroupBuilder rank(int value);

    /**
     * Sets the number of ranks, if the init method does not.
     *
     * @param value at least 1
     * @return this builder
     * @throws UsageException if it is less
     */
    ProcessGroupBuilder worldSize(int value);

    /**
     * Sets which other API ranks of the world may run. The default is none.
     *
     * @param value the same on every rank
     * @return this builder
     */
    ProcessGroupBuilder interop(Interop value);

    /**
     * Sets the deadline of each operation, and of joining unless {@link #joinTimeout} sets another.
     * The default is {@link #DEFAULT_TIMEOUT}. In a world with ranks of PyTorch and a backend for
     * the CPU, it is 30 minutes, as in PyTorch.
     *
     * @param value positive, at most a day
     * @return this builder
     * @throws UsageException if it is null or out of range
     */
    ProcessGroupBuilder timeout(Duration value);

    /**
     * Sets the deadline of {@link #build}: of finding the other ranks and of connecting to them.
     * Ranks may start minutes apart where a cluster has a queue, and operations may need a shorter
     * deadline. Groups that are made from the world later have the deadline of {@link #timeout}.
     *
     * @param value positive, at most a day
     * @return this builder
     * @throws UsageException if it is null or out of range
     */
    ProcessGroupBuilder joinTimeout(Duration value);

    /**
     * Sets the device of this rank. The default is the device whose index is the rank's number on
     * its host, if the launcher provides that, otherwise the first device.
     *
     * @param value its type must be one that {@link #backend} names or, for a single name, one that
     *     the backend takes; otherwise {@link #build} throws a {@link UsageException}
     * @return this builder
     */
    ProcessGroupBuilder device(Device value);

    /**
     * Sets the options of one backend.
     *
     * @param value the options of the binding
     * @return this builder
     */
    ProcessGroupBuilder options(BackendOptions value);

    /**
     * Sets what the process does if this group, or one made from it, fails. By default it
     * continues.
     *
     * @param value {@link OnFailure#END_PROCESS} if results are read by other means than this API
     * @return this builder
     */
    ProcessGroupBuilder onFailure(OnFailure value);

    /**
     * Sets whether each collective is compared with those of the other ranks before the library is
     * called, in this world and all groups made from it: operation, element type, count, reduce op,
     * root and splits. Some libraries return wrong numbers if the calls of ranks differ. With the
     * check, every rank throws a {@link MismatchException} instead. If other ranks do not make a
     * call, the rank throws an {@link OperationTimeoutException} after {@link #timeout} that names
     * them. The check is for debugging: each call costs four requests to the store, and blocks
     * until all ranks have reached it. Messages are not compared. On the CPU, a collective of a
     * thread that begins while one of another thread is compared fails the group with a {@link
     * MismatchException} that names the threads, because the program does not order them.
     *
     * <p>A world of one rank is not checked. {@link #build} throws a {@link UsageException} if the
     * world has ranks of another API.
     *
     * @param value the same on every rank; the default is true if the environment variable {@code
     *     JCCL_CHECK_CALLS} is 1
     * @return this builder
     */
    ProcessGroupBuilder checkCalls(boolean value);

    /**
     * Encrypts the connections between ranks, also of all groups made from this one, and to the
     * store over TCP with TLS 1.3. Each side of a connection must have a valid certificate of one
     * of the other's authorities. There is no fall-back to plain connections.
     *
     * <p>{@link #build} throws a {@link UsageException} if a backend cannot encrypt, if the world
     * has ranks of another API, or if {@link #store} is an {@code org.jccl.store.TcpStore} without
     * TLS. A store of another kind is not encrypted.
     *
     * @param value on every rank; the default is that of {@link TlsCredentials#in} for the
     *     environment of the process, or plain connections if that is empty
     * @return this builder
     */
    ProcessGroupBuilder tls(TlsCredentials value);

    /**
     * Makes a world whose ranks leave and come back: a lost rank may be started again while the
     * others stay, see {@link ProcessGroup#reconfigure}. The group that {@link #build} returns is a
     * generation: it has the ranks that are present, at least {@code minimum} of the world size.
     * {@code build} waits for all ranks up to {@link #timeout}. A process that is started again
     * waits there until the others call {@code reconfigure}. PyTorch's {@code enable_reconfigure}.
     *
     * <p>The rank that a launcher gives to the process is its number in {@link
     * ProcessGroup#worldRanks}. {@link ProcessGroup#rank} counts the members of the generation. A
     * job has one such world at a time. Its store must survive lost ranks: a launcher serves it, or
     * rank 0 is never lost.
     *
     * @param minimum the smallest number of ranks that continue without others, the same on every
     *     rank
     * @return this builder
     * @throws UsageException if it is less than 1. {@link #build} throws one if it is more than the
     *     world size, a library knows the world, or it has ranks of another API
     */
    ProcessGroupBuilder reconfigurable(int minimum);

    /**
     * Adds a listener to the world and all groups made from it. May be called several times.
     * Without a listener, events cost nothing.
     *
     * @param value called by a thread of the world
     * @return this builder
     * @throws UsageException if it is null, its {@link GroupListener#stallThreshold} is out of
     *     range, or 16 listeners were added before
     */
    ProcessGroupBuilder listener(GroupListener value);

    /**
     * Joins the world. Blocks until all ranks have joined. Without init method, store, rank and
     * world size, a backend whose library knows the world is asked before {@code env://}.
     *
     * <p>With {@code env://}, under a launcher that names an error file, as torchrun does, an
     * exception that ends this thread is written there: see {@code org.jccl.bootstrap.ErrorFile}.
     *
     * @return the group of all ranks
     * @throws UsageException if the backends are malformed, or none of them takes the device
     * @throws BootstrapException if rank, world size or store are unknown
     * @throws BackendUnavailableException if a backend cannot be used here
     * @throws JcclException if the other ranks do not arrive in time
     */
    ProcessGroup build();
}
