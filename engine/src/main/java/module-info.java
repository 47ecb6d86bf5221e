/**
 * Implements {@code org.jccl}: groups, the engines that order operations and watch them, tensors
 * and streams. It exports nothing; programs and bindings use {@code org.jccl.api}.
 *
 * @uses org.jccl.spi.BackendProvider the bindings
 * @uses org.jccl.spi.HostAllocator memory for large tensors
 * @provides org.jccl.JcclProvider the implementation of {@code org.jccl}
 */
module org.jccl.engine {
    requires jdk.unsupported;
    requires static jdk.jfr;
    requires transitive org.jccl.store;

    uses org.jccl.spi.BackendProvider;
    uses org.jccl.spi.HostAllocator;

    provides org.jccl.JcclProvider with
            org.jccl.internal.api.DefaultProvider;
}
