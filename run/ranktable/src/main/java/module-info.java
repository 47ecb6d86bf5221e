/**
 * Rank tables: files that say which device of which node each rank of a job uses.
 *
 * @provides org.jccl.bootstrap.RankTableSource tables as a source of rank and size
 */
module org.jccl.ranktable {
    requires transitive org.jccl.store;
    requires com.fasterxml.jackson.core;

    exports org.jccl.ranktable;

    provides org.jccl.bootstrap.RankTableSource with
            org.jccl.ranktable.service.TableSource;
}
