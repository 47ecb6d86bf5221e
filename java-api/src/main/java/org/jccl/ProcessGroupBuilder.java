package org.jccl;

import java.time.Duration;

/**
 * The options of a world. A builder is used once. The defaults are {@code env://}, the best backend
 * for each device type of the host, and a timeout of ten minutes. Every method throws a {@link
 * UsageException} for null.
 *
 * <p>Programs must not implement this interface: later versions may add methods.
 */
public interface ProcessGroupBuilder {

    /** The default deadline of an operation. */
    Duration DEFAULT_TIMEOUT = Duration.ofMinutes(10);

    /**
     * Sets the backend, or one backend for each device type. Some backends for host memory also
     * take device tensors, as in {@code cuda:gloo}. These are copied through host memory, and
     * {@link Work#await()} blocks until the result is on the device.
     *
     * <p>Without this setting, the group uses the best available backend for each device type, or
     * only for the CPU and the type of {@link #device}, if that is set. It logs the choice. In a
     * world with ranks of another API, it uses one backend, as those ranks do: the accelerator's if
     * there is one, otherwise the CPU's. Such ranks may have further names for a backend, see
     * {@link Interop}.
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
     * Sets the API that other ranks of the world may use. The default is {@link Interop#NONE}.
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
     * Sets the deadline of {@link #build}, for finding the other ranks and connecting to them. In a
     * cluster with a queue, ranks may start minutes apart, while operations may need a shorter
     * deadline. Groups that are made from the world later use the deadline of {@link #timeout}.
     *
     * @param value positive, at most a day
     * @return this builder
     * @throws UsageException if it is null or out of range
     */
    ProcessGroupBuilder joinTimeout(Duration value);

    /**
     * Sets the device of this rank. The default is the device with the index of the local rank, if
     * the launcher provides one, otherwise the first device.
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
     * @param value {@link OnFailure#END_PROCESS} if the program reads results by means other than
     *     this API
     * @return this builder
     */
    ProcessGroupBuilder onFailure(OnFailure value);

    /**
     * Sets whether each collective is compared with those of the other ranks before the library is
     * called. It applies to this world and all groups made from it. The check compares operation,
     * element type, count, reduce op, root and splits. Some libraries return wrong numbers if the
     * calls of ranks differ. With the check, every rank throws a {@link MismatchException} instead.
     * If other ranks do not make a call within {@link #timeout}, the rank throws an {@link
     * OperationTimeoutException} that names them. The check is for debugging: each call costs four
     * requests to the store, and blocks until all ranks have reached it. Messages are not compared.
     * On the CPU, the check also detects threads that issue collectives in no defined order. If a
     * thread starts a collective while another thread's is being compared, the group fails with a
     * {@link MismatchException} that names the threads.
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
     * Encrypts with TLS 1.3: the connections between ranks, those of all groups made from this one,
     * and the connections to the store over TCP. Each side of a connection must have a valid
     * certificate from one of the other's authorities. There is no fallback to plain connections.
     *
     * <p>{@link #build} throws a {@link UsageException} if a backend cannot encrypt, if the world
     * has ranks of another API, or if {@link #store} is an {@code org.jccl.store.TcpStore} without
     * TLS. A store of another kind is not encrypted.
     *
     * @param value required on every rank. The default is the result of {@link TlsCredentials#in}
     *     for the environment of the process; if that is empty, connections are plain
     * @return this builder
     */
    ProcessGroupBuilder tls(TlsCredentials value);

    /**
     * Makes a world whose ranks can be replaced: a lost rank may be restarted while the others keep
     * running, see {@link ProcessGroup#reconfigure}. {@link #build} returns a group of the ranks
     * that are present, at least {@code minimum} of the world size. Such a group is a generation.
     * {@code build} waits up to {@link #timeout} for all ranks. A restarted process waits there
     * until the others call {@code reconfigure}. This is PyTorch's {@code enable_reconfigure}.
     *
     * <p>The rank that the launcher assigns to a process is its number in {@link
     * ProcessGroup#worldRanks}. {@link ProcessGroup#rank} counts the members of the generation. A
     * job has one such world at a time. Its store must survive lost ranks: a launcher must serve
     * it, or rank 0 must never be lost.
     *
     * @param minimum the smallest number of ranks that continue without others, the same on every
     *     rank
     * @return this builder
     * @throws UsageException if it is less than 1. {@link #build} throws one if it is more than the
     *     world size, a library defines the world, or the world has ranks of another API
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
     * Joins the world. Blocks until all ranks have joined. If no init method, store, rank or world
     * size is set, a backend whose library defines the world takes precedence over {@code env://}.
     *
     * <p>With {@code env://}, the launcher may name an error file, as torchrun does. An exception
     * that ends this thread is then written there, see {@code org.jccl.bootstrap.ErrorFile}.
     *
     * @return the group of all ranks
     * @throws UsageException if the backends are malformed, or none of them takes the device
     * @throws BootstrapException if rank, world size or store are unknown
     * @throws BackendUnavailableException if a backend cannot be used here
     * @throws JcclException if the other ranks do not arrive in time
     */
    ProcessGroup build();
}
