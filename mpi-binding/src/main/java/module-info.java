/**
 * The MPI backend: collectives on host memory over the Open MPI or MPICH of the system.
 *
 * @provides org.jccl.spi.BackendProvider MPI
 * @provides org.jccl.spi.HostAllocator huge pages
 */
module org.jccl.mpi {
    requires org.bytedeco.javacpp;
    // Named by no class. It implements the API, and jlink does not look for services. Brings the
    // API and stores.
    requires transitive org.jccl.engine;

    exports org.jccl.mpi;

    provides org.jccl.spi.BackendProvider with
            org.jccl.mpi.MpiProvider;
    provides org.jccl.spi.HostAllocator with
            org.jccl.mpi.HugePages;
}
