/**
 * Collective communication for the JVM: process groups, tensors, stores, bootstrap, and the SPI
 * that bindings implement. The module {@code org.jccl.engine} implements {@code org.jccl}; each
 * binding requires it.
 *
 * @uses org.jccl.bootstrap.RankTableSource rank tables as a source of rank and size
 * @uses org.jccl.spi.StoreProvider stores that a URL names
 * @uses org.jccl.JcclProvider the implementation of {@code org.jccl}
 */
// What other modules of ours share; they are compiled later, and this one need not know them.
@SuppressWarnings("module")
module org.jccl.api {
    requires static org.bytedeco.javacpp;

    exports org.jccl;
    exports org.jccl.bootstrap;
    exports org.jccl.spi;
    exports org.jccl.store;
    exports org.jccl.internal.checks to
            org.jccl.engine,
            org.jccl.launch,
            org.jccl.ranktable;
    exports org.jccl.internal.json to
            org.jccl.engine;
    exports org.jccl.internal.rendezvous to
            org.jccl.engine,
            org.jccl.launch;

    uses org.jccl.JcclProvider;
    uses org.jccl.bootstrap.RankTableSource;
    uses org.jccl.spi.StoreProvider;
}
