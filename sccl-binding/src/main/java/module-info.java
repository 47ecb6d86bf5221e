/**
 * The SCCL backend: collectives on Sophgo TPUs, on TPU streams.
 *
 * @provides org.jccl.spi.BackendProvider SCCL
 */
@SuppressWarnings("requires-automatic") // JNA's jar with a descriptor is another artifact.
module org.jccl.sccl {
    requires com.sun.jna;
    // Named by no class. It implements the API, and jlink does not look for services. Brings the
    // API and stores.
    requires transitive org.jccl.engine;
    requires transitive org.jccl.ranktable;

    exports org.jccl.sccl;
    // JNA reads the fields of structures.
    exports org.jccl.sccl.abi to
            com.sun.jna;

    provides org.jccl.spi.BackendProvider with
            org.jccl.sccl.ScclProvider;
}
