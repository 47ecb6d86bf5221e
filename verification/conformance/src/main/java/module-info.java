/** What every backend must do, as tests for JUnit 5 that the tests of a backend extend. */
module org.jccl.conformance {
    requires transitive org.jccl.store;
    requires transitive org.junit.jupiter.api;
    requires transitive org.junit.jupiter.params;
    requires org.assertj.core;
    requires static org.junit.platform.launcher;

    exports org.jccl.conformance;

    // Cases are found by reflection.
    opens org.jccl.conformance;
}
