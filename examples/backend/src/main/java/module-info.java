/**
 * Backends for ranks that are threads of one process.
 *
 * @provides org.jccl.spi.BackendProvider the backends {@code threads} and {@code queues}
 */
module com.example.threads {
    requires org.jccl.api;

    provides org.jccl.spi.BackendProvider with
            com.example.threads.ThreadsProvider,
            com.example.threads.QueuesProvider;
}
