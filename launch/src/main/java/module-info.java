/** Starts the ranks of a job as processes, and again where one fails or a node comes or goes. */
module org.jccl.launch {
    requires transitive org.jccl.api;

    exports org.jccl.launch;
}
