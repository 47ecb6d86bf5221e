/**
 * Collective communication for the JVM: process groups, tensors, and the SPI that bindings
 * implement. The module {@code org.jccl.engine} implements {@code org.jccl}; each binding requires
 * it. Stores and bootstrap are in {@code org.jccl.store}.
 *
 * @uses org.jccl.JcclProvider the implementation of {@code org.jccl}
 */
// What other modules of ours share; they are compiled later, and this one need not know them.
@SuppressWarnings("module")
module org.jccl.api {
    requires static org.bytedeco.javacpp;

    exports org.jccl;
    exports org.jccl.spi;
    exports org.jccl.spi.support;
    exports org.jccl.internal.checks to
            org.jccl.engine,
            org.jccl.launch,
            org.jccl.ranktable,
            org.jccl.store;
    exports org.jccl.internal.json to
            org.jccl.engine,
            org.jccl.ranktable,
            org.jccl.store;

    uses org.jccl.JcclProvider;
}
