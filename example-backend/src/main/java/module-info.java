/**
 * A backend for ranks that are threads of one process.
 *
 * @provides org.jccl.spi.BackendProvider the backend {@code threads}
 */
module com.example.threads {
    requires org.jccl.api;

    provides org.jccl.spi.BackendProvider with
            com.example.threads.ThreadsProvider;
}
