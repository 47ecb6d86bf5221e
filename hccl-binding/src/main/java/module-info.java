/**
 * The HCCL backend: collectives on Huawei Ascend devices, on ACL streams.
 *
 * @provides org.jccl.spi.BackendProvider HCCL
 */
@SuppressWarnings("requires-automatic") // JNA's jar with a descriptor is another artifact.
module org.jccl.hccl {
    requires com.sun.jna;
    // Named by no class. It implements the API, and jlink does not look for services. Brings the
    // API and stores.
    requires transitive org.jccl.engine;
    requires org.jccl.ranktable;

    exports org.jccl.hccl;

    provides org.jccl.spi.BackendProvider with
            org.jccl.hccl.HcclProvider;
}
