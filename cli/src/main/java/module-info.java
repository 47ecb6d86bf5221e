/**
 * The {@code jccl} command.
 *
 * @uses org.jccl.spi.BackendProvider the bindings that the command lists
 */
@SuppressWarnings("requires-automatic")
module org.jccl.cli {
    requires org.jccl.launch;
    requires org.jccl.ranktable;
    requires com.fasterxml.jackson.core;
    requires info.picocli;
    requires jdk.management;
    // Only plots need them, and jlink cannot take modules without a descriptor.
    requires static java.desktop;
    requires static org.apache.xmlgraphics.batik.svggen;
    requires static xchart;

    exports org.jccl.cli;

    opens org.jccl.cli to
            info.picocli;
    opens org.jccl.cli.bench to
            info.picocli;
    opens org.jccl.cli.info to
            info.picocli;
    opens org.jccl.cli.ranktable to
            info.picocli;
    opens org.jccl.cli.top to
            info.picocli;
    opens org.jccl.cli.trace to
            info.picocli;

    uses org.jccl.spi.BackendProvider;
}
