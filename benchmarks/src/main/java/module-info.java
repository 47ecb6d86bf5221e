/** What a call costs the host. JMH itself is no named module. */
@SuppressWarnings("requires-automatic")
module org.jccl.benchmarks {
    requires java.management;
    requires jdk.management;
    requires jdk.unsupported;
    requires jmh.core;
    requires org.bytedeco.cuda;
    requires jdk.jfr;
    requires org.jccl.api;
    requires org.jccl.mpi;
    requires org.jccl.nccl;
}
