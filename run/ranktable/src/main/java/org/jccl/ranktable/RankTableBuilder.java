package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.internal.checks.Require;
import org.jccl.ranktable.json.Json;

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

    /** The addresses of each rank in HCCL 2.0. */
    private final Map<Integer, List<TableWriter.Place>> places = new HashMap<>();

    RankTableBuilder(RankTableFormat format) {
        this.format = Require.nonNull(format, "format");
        if (!format.isWritable()) {
            throw usage(format + " is an old form: make SCCL 1.0, or HCCL 1.0, 1.2 or 2.0");
        }
    }

    /** Rejects a call that the format has no field for, instead of ignoring it. */
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
     * @throws UsageException if the format has none, or the name is null
     */
    public RankTableBuilder superPod(String id) {
        mustBe(RankTableFormat.HCCL_1_2, "super pods");
        superPod = Optional.of(Require.nonNull(id, "id"));
        return this;
    }

    /**
     * Begins a node: the devices that follow are on it.
     *
     * @param id the node's IP address, which old versions of HCCL ask for, or its name; SCCL does
     *     not name nodes and leaves it out; in HCCL 2.0 the name of its network of layer 0
     * @return this builder
     * @throws UsageException if it is null
     */
    public RankTableBuilder node(String id) {
        Require.nonNull(id, "id");
        nodes.add(new TableWriter.Node(id, superPod, new ArrayList<>()));
        return this;
    }

    /**
     * Adds a device, and with it a rank.
     *
     * @param device physical number of the device on its node
     * @param ips addresses of the device; SCCL takes one, HCCL needs them between nodes
     * @return this builder
     * @throws UsageException if no node was begun, SCCL would have to leave out an address, HCCL
     *     2.0 wants it by {@link #address}, or an address is null
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
     * @throws UsageException if no node was begun, the format has no super pods, or an address is
     *     null
     */
    public RankTableBuilder superDevice(int device, long superDevice, String... ips) {
        mustBe(RankTableFormat.HCCL_1_2, "super pods");
        return add(device, OptionalLong.of(superDevice), ips);
    }

    private RankTableBuilder add(int device, OptionalLong superDevice, String... given) {
        String[] ips = Require.nonNull(given, "ips").clone();
        for (String ip : ips) {
            Require.nonNull(ip, "an address of device " + device);
        }
        if (nodes.isEmpty()) {
            throw usage("device " + device + " is on no node: call node first");
        }
        if (format == RankTableFormat.HCCL_2_0 && ips.length > 0) {
            throw usage(format + " needs the layer and ports of an address: call address");
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
     * Adds an address to the device that was added last. Only HCCL 2.0 has them by layers.
     *
     * @param layer of networks: 0 inside a node, which the host's topology file describes, and
     *     those above between nodes
     * @param network name of the network, the same for all ranks that reach each other in it; in
     *     layer 0 that of the node
     * @param plane part of the network that has this address, {@code 0} where there is one
     * @param address an EID of 32 hexadecimal digits, or an IPv4 or IPv6 address
     * @param ports of the device that have the address, as DIE/PORT
     * @return this builder
     * @throws UsageException if the format has no layers, no device was added, the device is in
     *     another network of that layer, the address is none, or something is null
     */
    public RankTableBuilder address(
            int layer, String network, String plane, String address, String... ports) {
        mustBe(RankTableFormat.HCCL_2_0, "layers of networks");
        Require.nonNull(network, "network");
        Require.nonNull(plane, "plane");
        AddressType type =
                AddressType.of(Require.nonNull(address, "address"))
                        .orElseThrow(() -> usage(address + " is not an EID, IPv4 or IPv6 address"));
        for (String port : Require.nonNull(ports, "ports")) {
            Require.nonNull(port, "a port of " + address);
        }
        if (nodes.isEmpty() || nodes.get(nodes.size() - 1).devices().isEmpty()) {
            throw usage("address " + address + " belongs to no device: call device first");
        }
        String node = nodes.get(nodes.size() - 1).id();
        List<TableWriter.Place> own = places.computeIfAbsent(ranks - 1, rank -> new ArrayList<>());
        String first =
                own.stream()
                        .filter(place -> place.layer() == layer)
                        .map(TableWriter.Place::network)
                        .findFirst()
                        .orElse(layer == 0 ? node : network);
        if (!first.equals(network)) {
            throw usage(
                    "rank "
                            + (ranks - 1)
                            + " is in network "
                            + first
                            + " of layer "
                            + layer
                            + ", and cannot be in "
                            + network
                            + " too");
        }
        own.add(
                new TableWriter.Place(
                        layer, network, plane, type, address, List.of(ports.clone())));
        return this;
    }

    /**
     * Writes addresses as {@code device_ip_emulator}, for nodes that emulate the devices of one
     * node. Only SCCL has it.
     *
     * @param on true to do so
     * @return this builder
     * @throws UsageException if the format has none
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
     * @throws UsageException if the format leaves no choice
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
     * @throws RankTableException if the table is not valid; paths are those of the JSON that was to
     *     be written
     */
    public RankTable build() {
        return build(format, nodes, emulator, textIds, places);
    }

    /** Writes the ranks of a table in another form. */
    static RankTable convert(RankTable table, RankTableFormat format) {
        RankTableBuilder builder = new RankTableBuilder(format);
        List<TableWriter.Node> nodes = new ArrayList<>();
        for (int node = 0; node < table.nodeCount(); node++) {
            List<RankEntry> devices =
                    table.ranksOf(node).stream()
                            .map(table::entry)
                            .map(
                                    entry ->
                                            table.format() == RankTableFormat.HCCL_2_0
                                                    ? withoutAddresses(entry)
                                                    : entry)
                            .toList();
            RankEntry first = devices.get(0);
            nodes.add(new TableWriter.Node(first.nodeId(), first.superPod(), devices));
        }
        return build(builder.format, nodes, false, false, Map.of());
    }

    /** Removes addresses, which other forms cannot assign to layers. */
    private static RankEntry withoutAddresses(RankEntry entry) {
        return new RankEntry(
                entry.rank(),
                entry.node(),
                entry.nodeId(),
                entry.localRank(),
                entry.device(),
                List.of(),
                entry.superDevice(),
                entry.superPod());
    }

    private static RankTable build(
            RankTableFormat format,
            List<TableWriter.Node> nodes,
            boolean emulator,
            boolean text,
            Map<Integer, List<TableWriter.Place>> places) {
        Json json =
                switch (format) {
                    case HCCL_1_0 -> TableWriter.hccl(nodes, "1.0");
                    case HCCL_1_2 -> TableWriter.hccl(nodes, "1.2");
                    case HCCL_2_0 -> TableWriter.rankList(nodes, places);
                    default ->
                            TableWriter.sccl(
                                    nodes, emulator ? "device_ip_emulator" : "device_ip", text);
                };
        return TableReader.read("rank table to be written", json, new Faults());
    }
}
