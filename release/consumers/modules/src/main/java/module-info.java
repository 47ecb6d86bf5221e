module example.app {
    requires org.jccl.api;
    requires org.jccl.launch;

    // So that jlink, too, takes it along: nothing names it but the service.
    requires org.jccl.gloo;
}
