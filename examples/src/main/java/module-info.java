/** Programs to copy from. */
module org.jccl.examples {
    requires org.jccl.api;

    exports org.jccl.examples;
}
