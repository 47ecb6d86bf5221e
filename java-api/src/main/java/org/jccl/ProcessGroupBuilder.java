package org.jccl;

import java.time.Duration;

/**
 * Options of a world, filled and then built once. All have defaults: {@code env://}, the best
 * backend for the devices present, ten minutes. Each throws a {@link UsageException} for null.
 *
 * <p>Programs do not implement this interface: later versions may add methods.
 */
public interface ProcessGroupBuilder {

    /** Deadline of an operation unless another is given. */
    Duration DEFAULT_TIMEOUT = Duration.ofMinutes(10);

    /**
     * The backend or backends, each for one type of device. Some that work on host memory take
     * tensors of devices too, as {@code cuda:gloo}: they are copied through host memory, and {@link
     * Work#await()} blocks until the result is on the device.
     *
     * @param names one name, or pairs {@code device:name} with commas between; in any case
     * @return this builder
     */
    ProcessGroupBuilder backend(String names);

    /**
     * How ranks find each other.
     *
     * @param url {@code env://}, {@code tcp://host:port?rank=..&world_size=..} or {@code
     *     file:///path?...}
     * @return this builder
     */
    ProcessGroupBuilder initMethod(String url);

    /**
     * A store that all ranks reach, instead of an init method. {@link #rank} and {@link #worldSize}
     * must be given too.
     *
     * @param shared stays open when the group is closed
     * @return this builder
     */
    ProcessGroupBuilder store(Store shared);

    /**
     * This process's rank, where the init method does not say it.
     *
     * @param value from 0
     * @return this builder
     * @throws UsageException when it is negative
     */
    ProcessGroupBuilder rank(int value);

    /**
     * Number of ranks, where the init method does not say it.
     *
     * @param value at least 1
     * @return this builder
     * @throws UsageException when it is less
     */
    ProcessGroupBuilder worldSize(int value);

    /**
     * What else than this API may be a rank of the world; nothing unless it is said here.
     *
     * @param value the same on every rank
     * @return this builder
     */
    ProcessGroupBuilder interop(Interop value);

    /**
     * Deadline of joining and of each operation.
     *
     * @param value positive, at most a day
     * @return this builder
     * @throws UsageException when it is null or outside
     */
    ProcessGroupBuilder timeout(Duration value);

    /**
     * The device this rank uses; by default the one whose index is the rank's number on its host,
     * where the launcher tells that, else the first.
     *
     * @param value its type must be one of those that {@link #backend} names or, for a name alone,
     *     one that the backend takes; else {@link #build} throws a {@link UsageException}
     * @return this builder
     */
    ProcessGroupBuilder device(Device value);

    /**
     * Options of one backend.
     *
     * @param value of the binding
     * @return this builder
     */
    ProcessGroupBuilder options(BackendOptions value);

    /**
     * What the process does when this group, or one made from it, fails; it goes on unless it is
     * said here.
     *
     * @param value {@link OnFailure#END_PROCESS} where results are read by other means than this
     *     API
     * @return this builder
     */
    ProcessGroupBuilder onFailure(OnFailure value);

    /**
     * Whether each collective is compared with those of the other ranks before the library is
     * called, in this world and all groups made from it: operation, element type, count, reduce op,
     * root and splits. Some libraries return wrong numbers where ranks' calls differ; with the
     * check every rank throws a {@link MismatchException} instead, and a rank whose call others do
     * not make throws an {@link OperationTimeoutException} after {@link #timeout} that names them.
     * For finding faults: each call also costs three requests to the store, and blocks until all
     * ranks have come to it. Messages are not compared.
     *
     * <p>A world of one rank has nothing to compare. {@link #build} throws a {@link UsageException}
     * where ranks of another API belong to the world.
     *
     * @param value the same on every rank; by default true where the environment variable {@code
     *     JCCL_CHECK_CALLS} is 1
     * @return this builder
     */
    ProcessGroupBuilder checkCalls(boolean value);

    /**
     * Has the world, and all groups made from it, tell what they do. May be called several times,
     * for one listener each; without any, nothing is spent on telling.
     *
     * @param value called by a thread of the world
     * @return this builder
     * @throws UsageException when it is null or its {@link GroupListener#stallThreshold} is none,
     *     or 16 were given before
     */
    ProcessGroupBuilder listener(GroupListener value);

    /**
     * Joins the world. Blocks until all ranks have joined. Without init method, store, rank and
     * world size, a backend whose library knows the world by itself is asked before {@code env://}.
     *
     * <p>With {@code env://} under a launcher that names an error file, as torchrun does, an
     * exception that ends this thread is written there: see {@link org.jccl.bootstrap.ErrorFile}.
     *
     * @return this process's group of all ranks
     * @throws UsageException when the backends' text has another form, or none of them takes the
     *     device
     * @throws BootstrapException when it is not clear who and where the ranks are
     * @throws BackendUnavailableException when a backend can not be used here
     * @throws JcclException when the other ranks do not arrive in time
     */
    ProcessGroup build();
}
