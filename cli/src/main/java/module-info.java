/** The {@code jccl} command. */
module org.jccl.cli {
    requires org.jccl.api;
    requires info.picocli;

    exports org.jccl.cli;

    opens org.jccl.cli to
            info.picocli;
}
