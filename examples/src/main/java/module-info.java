/**
 * Programs to copy from.
 *
 * @uses org.jccl.spi.BackendProvider the one that drives the devices, for an example without
 *     kernels
 */
module org.jccl.examples {
    requires transitive org.jccl.api;
    requires org.jccl.ranktable;
    requires transitive org.jccl.training;
    requires jdk.httpserver;

    exports org.jccl.examples;

    uses org.jccl.spi.BackendProvider;
}
