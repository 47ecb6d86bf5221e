/**
 * Collective communication for the JVM: process groups, tensors, stores and bootstrap over vendor
 * libraries that are found at run time.
 *
 * @uses org.jccl.spi.BackendProvider the bindings
 * @uses org.jccl.spi.HostAllocator memory for large tensors
 * @uses org.jccl.bootstrap.RankTableSource rank tables as a source of rank and size
 * @uses org.jccl.JcclProvider the implementation of {@code org.jccl}
 * @provides org.jccl.JcclProvider the same
 */
// What other modules of ours share; they are compiled later, and this one need not know them.
@SuppressWarnings("module")
module org.jccl.api {
    requires jdk.unsupported;
    requires static jdk.jfr;
    requires static org.bytedeco.javacpp;

    exports org.jccl;
    exports org.jccl.bootstrap;
    exports org.jccl.spi;
    exports org.jccl.store;
    exports org.jccl.torch;
    exports org.jccl.internal.checks to
            org.jccl.launch,
            org.jccl.ranktable;
    exports org.jccl.internal.rendezvous to
            org.jccl.launch;

    uses org.jccl.JcclProvider;
    uses org.jccl.bootstrap.RankTableSource;
    uses org.jccl.spi.BackendProvider;
    uses org.jccl.spi.HostAllocator;

    provides org.jccl.JcclProvider with
            org.jccl.internal.api.DefaultProvider;
}
