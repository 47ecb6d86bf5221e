/**
 * Rank tables: files that say which device of which node each rank of a job uses.
 *
 * @provides org.jccl.bootstrap.ClusterEnvironment the launchers that come with rank tables
 */
module org.jccl.ranktable {
    requires transitive org.jccl.store;
    requires com.fasterxml.jackson.core;

    exports org.jccl.ranktable;

    provides org.jccl.bootstrap.ClusterEnvironment with
            org.jccl.ranktable.service.AscendEnvironment,
            org.jccl.ranktable.service.SophgoEnvironment;
}
