/**
 * The Gloo backend: collectives on host memory over TCP.
 *
 * @provides org.jccl.spi.BackendProvider Gloo
 */
module org.jccl.gloo {
    requires org.bytedeco.javacpp;
    // Named by no class. It implements the API, and jlink does not look for services. Brings the
    // API and stores.
    requires transitive org.jccl.engine;

    exports org.jccl.gloo;

    provides org.jccl.spi.BackendProvider with
            org.jccl.gloo.GlooProvider;
}
