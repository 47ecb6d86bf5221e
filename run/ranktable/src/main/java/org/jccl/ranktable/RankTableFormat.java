package org.jccl.ranktable;

/** The forms in which rank tables are written. */
public enum RankTableFormat {
    /** SCCL, version 1.0: {@code node_list} of {@code device_list}. */
    SCCL_1_0("SCCL 1.0", true),
    /** SCCL before {@code node_list}: a {@code server_list} of servers with a {@code server_ip}. */
    SCCL_SERVER_LIST("SCCL server_list", false),
    /** HCCL, version 1.0: a {@code server_list} of servers with a {@code server_id}. */
    HCCL_1_0("HCCL 1.0", true),
    /** HCCL, version 1.2: like 1.0, with a {@code super_pod_list}. */
    HCCL_1_2("HCCL 1.2", true),
    /** HCCL, version 2.0, of Ascend 950: a {@code rank_list} with the networks of each rank. */
    HCCL_2_0("HCCL 2.0", true),
    /** HCCL before versions: a {@code group_list} of instances. */
    HCCL_GROUP_LIST("HCCL group_list", false);

    private final String label;
    private final boolean writable;

    RankTableFormat(String label, boolean writable) {
        this.label = label;
        this.writable = writable;
    }

    /**
     * Whether new tables are made in this form. The others are old: they are read, and a table that
     * was read is written back as it was.
     *
     * @return true if {@link RankTableBuilder} makes it
     */
    public boolean isWritable() {
        return writable;
    }

    boolean isSccl() {
        return this == SCCL_1_0 || this == SCCL_SERVER_LIST;
    }

    /** Name for people, for instance {@code SCCL 1.0}. */
    @Override
    public String toString() {
        return label;
    }
}
