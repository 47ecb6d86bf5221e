/**
 * Stores, through which ranks find each other, and bootstrap: how a process learns its rank.
 *
 * @uses org.jccl.bootstrap.ClusterEnvironment launchers that other artifacts know
 * @uses org.jccl.spi.StoreProvider stores that a URL names
 */
// What other modules of ours share; they are compiled later, and this one need not know them.
@SuppressWarnings("module")
module org.jccl.store {
    requires transitive org.jccl.api;

    exports org.jccl.bootstrap;
    exports org.jccl.store;
    exports org.jccl.internal.rendezvous to
            org.jccl.cli,
            org.jccl.launch,
            org.jccl.ranktable;

    uses org.jccl.bootstrap.ClusterEnvironment;
    uses org.jccl.spi.StoreProvider;
}
