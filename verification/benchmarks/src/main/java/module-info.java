/** What a call costs the host. JMH and Micrometer are no named modules. */
@SuppressWarnings("requires-automatic")
module org.jccl.benchmarks {
    requires java.management;
    requires jdk.management;
    requires jdk.unsupported;
    requires jmh.core;
    requires org.bytedeco.cuda;
    requires jdk.jfr;
    requires micrometer.core;
    requires org.jccl.engine;
    requires org.jccl.micrometer;
    requires org.jccl.gloo;
    requires org.jccl.mpi;
    requires org.jccl.nccl;

    uses org.jccl.spi.StoreProvider;
}
