package org.jccl.ranktable;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Reads SCCL 1.0: {@code node_list} of {@code device_list}. */
final class NodeListReader {

    private static final String RANK = "rank in the job, from 0";

    /** The rank is {@code rank}; readers and older writers also know these. */
    private static final List<String> RANK_NAMES = List.of("rank", "world_rank", "rank_id");

    private final Devices devices = new Devices();

    private NodeListReader() {}

    static Devices read(Element table) {
        table.required("version", "write \"1.0\"")
                .ifPresent(version -> version.mustBe("1.0", "write \"1.0\""));
        NodeListReader reader = new NodeListReader();
        for (Element node : table.objects("node_list", "list the nodes of the job")) {
            reader.node(node);
        }
        reader.devices.checkDevices("device_id");
        table.field("node_list").ifPresent(reader.devices::checkRanks);
        return reader.devices;
    }

    private void node(Element at) {
        Devices.Node node = devices.add(at, "");
        List<Element> list = at.objects("device_list", "list the devices of the node");
        Map<Integer, Element> seen = new HashMap<>();
        for (int i = 0; i < list.size(); i++) {
            Element device = list.get(i);
            // Without local ranks, the order of the list is theirs.
            Optional<Element> given = device.field("local_rank");
            int localRank = given.map(Element::number).orElse(i);
            if (localRank != Element.UNKNOWN) {
                Element where = given.orElse(device);
                if (localRank >= list.size()) {
                    where.fault(
                            "is "
                                    + localRank
                                    + ", but local ranks go from 0 to "
                                    + (list.size() - 1)
                                    + " on this node");
                }
                Element first = seen.putIfAbsent(localRank, where);
                if (first != null) {
                    where.fault("has local rank " + localRank + ", as has " + first.path());
                }
            }
            node.rows.add(row(device, localRank));
        }
    }

    private static Devices.Row row(Element device, int localRank) {
        int number = device.number("device_id", "number of the device on its node");
        List<Element> ranks =
                RANK_NAMES.stream().flatMap(name -> device.field(name).stream()).toList();
        int rank = Element.UNKNOWN;
        if (ranks.isEmpty()) {
            device.missing("rank", RANK);
        } else {
            rank = ranks.get(0).number();
        }
        for (Element other : ranks.subList(Math.min(1, ranks.size()), ranks.size())) {
            int number2 = other.number();
            if (rank != Element.UNKNOWN && number2 != Element.UNKNOWN && number2 != rank) {
                other.fault("is " + number2 + ", but " + ranks.get(0).path() + " is " + rank);
            }
        }
        Optional<String> emulator = ip(device, "device_ip_emulator");
        Optional<String> plain = ip(device, "device_ip");
        List<String> ips = emulator.or(() -> plain).map(List::of).orElse(List.of());
        return new Devices.Row(
                device,
                ranks.stream().findFirst(),
                rank,
                localRank,
                number,
                ips,
                OptionalLong.empty());
    }

    private static Optional<String> ip(Element device, String name) {
        return device.field(name).flatMap(Element::text);
    }
}
