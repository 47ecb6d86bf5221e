package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.internal.checks.Given;
import org.jccl.internal.json.Json;

/**
 * Makes a table. Ranks are given out in the order in which devices are added, from 0; local ranks
 * begin at 0 on each node.
 *
 * <pre>{@code
 * RankTable table =
 *         RankTable.builder(RankTableFormat.HCCL_1_0)
 *                 .node("10.20.0.11")
 *                 .device(0, "192.168.40.10")
 *                 .device(1, "192.168.41.10")
 *                 .build();
 * }</pre>
 *
 * <p>Not safe for use by several threads.
 */
public final class RankTableBuilder {

    private final RankTableFormat format;
    private final List<TableWriter.Node> nodes = new ArrayList<>();
    private Optional<String> superPod = Optional.empty();
    private boolean emulator;
    private boolean textIds;
    private int ranks;

    RankTableBuilder(RankTableFormat format) {
        this.format = Given.notNull(format, "format");
        if (!format.isWritable()) {
            throw usage(format + " is an old form: make SCCL 1.0, HCCL 1.0 or HCCL 1.2 instead");
        }
    }

    /** Silently leaving out what was asked for would make another table. */
    private void mustBe(RankTableFormat only, String what) {
        if (format != only) {
            throw usage(format + " has no " + what + ": only " + only + " has");
        }
    }

    private static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }

    /**
     * Begins a super pod: the nodes that follow are in it. Only HCCL 1.2 has them.
     *
     * @param id name of the super pod
     * @return this builder
     * @throws UsageException when the format has none, or the name is null
     */
    public RankTableBuilder superPod(String id) {
        mustBe(RankTableFormat.HCCL_1_2, "super pods");
        superPod = Optional.of(Given.notNull(id, "id"));
        return this;
    }

    /**
     * Begins a node: the devices that follow are on it.
     *
     * @param id the node's IP address, which old versions of HCCL ask for, or its name; SCCL does
     *     not name nodes and leaves it out
     * @return this builder
     * @throws UsageException when it is null
     */
    public RankTableBuilder node(String id) {
        Given.notNull(id, "id");
        nodes.add(new TableWriter.Node(id, superPod, new ArrayList<>()));
        return this;
    }

    /**
     * Adds a device, and with it a rank.
     *
     * @param device physical number of the device on its node
     * @param ips addresses of the device; SCCL takes one, HCCL needs them between nodes
     * @return this builder
     * @throws UsageException when no node was begun, SCCL would have to leave out an address, or an
     *     address is null
     */
    public RankTableBuilder device(int device, String... ips) {
        return add(device, OptionalLong.empty(), ips);
    }

    /**
     * Adds a device of a super pod, and with it a rank. Only HCCL 1.2 has them.
     *
     * @param device physical number of the device on its node
     * @param superDevice number of the device in its super pod
     * @param ips addresses of the device
     * @return this builder
     * @throws UsageException when no node was begun, the format has no super pods, or an address is
     *     null
     */
    public RankTableBuilder superDevice(int device, long superDevice, String... ips) {
        mustBe(RankTableFormat.HCCL_1_2, "super pods");
        return add(device, OptionalLong.of(superDevice), ips);
    }

    private RankTableBuilder add(int device, OptionalLong superDevice, String... given) {
        String[] ips = Given.notNull(given, "ips").clone();
        for (String ip : ips) {
            Given.notNull(ip, "an address of device " + device);
        }
        if (nodes.isEmpty()) {
            throw usage("device " + device + " is on no node: call node first");
        }
        if (format == RankTableFormat.SCCL_1_0 && ips.length > 1) {
            throw usage(
                    "device " + device + " has " + ips.length + " addresses, but SCCL takes one");
        }
        TableWriter.Node node = nodes.get(nodes.size() - 1);
        node.devices()
                .add(
                        new RankEntry(
                                ranks++,
                                nodes.size() - 1,
                                node.id(),
                                node.devices().size(),
                                device,
                                List.of(ips),
                                superDevice,
                                node.superPod()));
        return this;
    }

    /**
     * Writes addresses as {@code device_ip_emulator}, for nodes that play the devices of one. Only
     * SCCL has it.
     *
     * @param on true to do so
     * @return this builder
     * @throws UsageException when the format has none
     */
    public RankTableBuilder emulator(boolean on) {
        if (on) {
            mustBe(RankTableFormat.SCCL_1_0, "emulator form");
        }
        emulator = on;
        return this;
    }

    /**
     * Writes device numbers in quotes, as some SCCL tables have them; HCCL always does.
     *
     * @param on true to do so
     * @return this builder
     * @throws UsageException when the format leaves no choice
     */
    public RankTableBuilder textDeviceIds(boolean on) {
        if (on) {
            mustBe(RankTableFormat.SCCL_1_0, "choice of quotes");
        }
        textIds = on;
        return this;
    }

    /**
     * Makes the table and checks it like one that is read.
     *
     * @return the table
     * @throws RankTableException when the table is not valid; paths are those of the JSON that was
     *     to be written
     */
    public RankTable build() {
        return build(format, nodes, emulator, textIds);
    }

    /** Writes ranks that are there already in another form. */
    static RankTable convert(RankTable table, RankTableFormat format) {
        RankTableBuilder builder = new RankTableBuilder(format);
        List<TableWriter.Node> nodes = new ArrayList<>();
        for (int node = 0; node < table.nodeCount(); node++) {
            List<RankEntry> devices = table.ranksOf(node).stream().map(table::entry).toList();
            RankEntry first = devices.get(0);
            nodes.add(new TableWriter.Node(first.nodeId(), first.superPod(), devices));
        }
        return build(builder.format, nodes, false, false);
    }

    private static RankTable build(
            RankTableFormat format, List<TableWriter.Node> nodes, boolean emulator, boolean text) {
        Json json =
                switch (format) {
                    case HCCL_1_0 -> TableWriter.hccl(nodes, "1.0");
                    case HCCL_1_2 -> TableWriter.hccl(nodes, "1.2");
                    default ->
                            TableWriter.sccl(
                                    nodes, emulator ? "device_ip_emulator" : "device_ip", text);
                };
        return TableReader.read("rank table to be written", json, new Faults());
    }
}
