/** Random operations under random faults, each element checked. */
module org.jccl.soak {
    requires org.jccl.store;
    requires com.fasterxml.jackson.core;
    requires info.picocli;
    requires java.management;

    exports org.jccl.soak;

    opens org.jccl.soak to
            info.picocli;
}
