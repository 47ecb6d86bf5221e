/** Starts the ranks of a job as processes, and again where one fails. */
module org.jccl.launch {
    requires transitive org.jccl.store;

    exports org.jccl.launch;
}
