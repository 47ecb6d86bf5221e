/**
 * The NCCL backend: collectives on CUDA devices, on CUDA streams.
 *
 * @provides org.jccl.spi.BackendProvider NCCL
 */
module org.jccl.nccl {
    requires org.bytedeco.javacpp;
    // Named by no class. It implements the API, and jlink does not look for services. Brings the
    // API and stores.
    requires transitive org.jccl.engine;

    exports org.jccl.nccl;

    provides org.jccl.spi.BackendProvider with
            org.jccl.nccl.NcclProvider;
}
