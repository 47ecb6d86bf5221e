package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/**
 * Reads HCCL 2.0: a {@code rank_list} with the addresses of each rank in each layer of networks.
 * There are no servers. Layer 0 is a host or a rack of hosts. In a rack, {@code local_id} counts in
 * the rank's rack and {@code device_id} on its host.
 */
final class RankListReader {

    private static final List<String> NET_TYPES =
            List.of("1DMESH", "2DMESH", "A3_SERVER", "A2_AX_SERVER", "TOPO_FILE_DESC", "CLOS");
    private static final int MAX_RANKS = 65_536;
    private static final int MAX_DEVICE = 64;

    /** The local_id of a device that replaces another one. */
    private static final int REPLACEMENT = 64;

    private static final int MAX_LAYERS = 8;
    private static final int MAX_NAME_LENGTH = 1024;
    private static final int MAX_ADDRESSES = 24;
    private static final int MAX_PORTS = 16;
    private static final int MAX_PORT_LENGTH = 32;

    private final Devices devices = new Devices();

    /** The ranks of each instance of layer 0. */
    private final Map<String, List<Member>> networks = new LinkedHashMap<>();

    /** For each instance of layer 0, the element of each local_id. */
    private final Map<String, Map<Integer, Element>> localIds = new HashMap<>();

    /** A rank and its number in its instance of layer 0. */
    private record Member(Devices.Row row, int localId) {}

    /** The first list of addresses in each instance of a layer, and its length. */
    private final Map<String, FirstList> addressCounts = new HashMap<>();

    private record FirstList(Element at, int count) {}

    /** A rank's part of a layer. */
    private record Level(int layer, Optional<String> instance, List<String> addresses) {}

    private RankListReader() {}

    static Devices read(Element table) {
        RankListReader reader = new RankListReader();
        reader.readRanks(table.onlyNumbers());
        reader.devices.localRanksByRank();
        return reader.devices;
    }

    private void readRanks(Element table) {
        table.field("status")
                .ifPresent(
                        at ->
                                at.refusedBy()
                                        .mustBe(
                                                "completed",
                                                "leave it out, or write \"completed\""));
        List<Element> ranks = table.objects("rank_list", "list the ranks of the job");
        if (ranks.size() > MAX_RANKS) {
            table.field("rank_list")
                    .orElseThrow()
                    .fault("has " + ranks.size() + " ranks: HCCL takes " + MAX_RANKS);
        }
        table.required("rank_count", "number of ranks in $.rank_list");
        table.mustCount("rank_count", ranks.size(), "ranks in $.rank_list");
        for (Element rank : ranks) {
            readRank(rank);
        }
        networks.forEach(this::addHosts);
        table.field("rank_list").ifPresent(devices::checkRanks);
    }

    private void readRank(Element at) {
        int rank = at.number("rank_id", "rank in the job, from 0");
        int device = at.number("device_id", "physical number of the device", MAX_DEVICE);
        int localId = at.number("local_id", "number of the device on its server", REPLACEMENT);
        int place = localId;
        if (localId == REPLACEMENT) {
            place =
                    at.number(
                            "replaced_local_id",
                            "the local_id of the device that it replaces",
                            REPLACEMENT - 1);
        }
        at.checkPort("device_port");
        at.checkPort("host_port");
        List<Level> levels = levels(at);
        List<String> addresses =
                levels.stream().flatMap(level -> level.addresses.stream()).toList();
        // A rank with a fault in its instance gets any.
        String network = levels.isEmpty() ? "" : levels.get(0).instance.orElse("");
        if (localId != Element.UNKNOWN) {
            Devices.checkUnique(
                    localIds.computeIfAbsent(network, added -> new HashMap<>()),
                    localId,
                    at.field("local_id").orElseThrow());
        }
        Devices.Row row =
                new Devices.Row(
                        at,
                        at.field("rank_id"),
                        rank,
                        Element.UNKNOWN,
                        device,
                        addresses,
                        OptionalLong.empty());
        networks.computeIfAbsent(network, added -> new ArrayList<>()).add(new Member(row, place));
    }

    /** Makes a node of a network, or one of each of its hosts. */
    private void addHosts(String network, List<Member> members) {
        List<List<Devices.Row>> hosts = hosts(members);
        for (int i = 0; i < hosts.size(); i++) {
            List<Devices.Row> rows = hosts.get(i);
            String id = hosts.size() == 1 ? network : network + "/" + i;
            devices.add(rows.get(0).at(), id).rows.addAll(rows);
        }
    }

    /**
     * The ranks of each host of a network. The table does not name hosts. If each device has
     * another number, there is one host. Otherwise devices have the numbers of the rack, less that
     * of the host's first device; or else, a host ends where a device's number comes again.
     */
    private static List<List<Devices.Row>> hosts(List<Member> members) {
        Map<Integer, List<Member>> byFirst = new TreeMap<>();
        Set<Integer> numbers = new HashSet<>();
        for (Member member : members) {
            numbers.add(member.row.device());
            byFirst.computeIfAbsent(
                            member.localId - member.row.device(), added -> new ArrayList<>())
                    .add(member);
        }
        if (numbers.size() == members.size()) {
            return List.of(rows(members));
        }
        int next = 0;
        boolean apart = true;
        for (Map.Entry<Integer, List<Member>> host : byFirst.entrySet()) {
            apart &= host.getKey() >= next;
            next = host.getValue().stream().mapToInt(Member::localId).max().orElse(0) + 1;
        }
        return apart ? byFirst.values().stream().map(RankListReader::rows).toList() : runs(members);
    }

    private static List<List<Devices.Row>> runs(List<Member> members) {
        List<Member> inOrder = new ArrayList<>(members);
        inOrder.sort(Comparator.comparingInt(Member::localId));
        List<List<Devices.Row>> hosts = new ArrayList<>();
        Set<Integer> numbers = new HashSet<>();
        for (Member member : inOrder) {
            if (hosts.isEmpty() || !numbers.add(member.row.device())) {
                hosts.add(new ArrayList<>());
                numbers.clear();
                numbers.add(member.row.device());
            }
            hosts.get(hosts.size() - 1).add(member.row);
        }
        return hosts;
    }

    private static List<Devices.Row> rows(List<Member> members) {
        return members.stream().map(Member::row).toList();
    }

    private List<Level> levels(Element rank) {
        List<Element> list = rank.objects("level_list", "list the layers of the rank");
        if (list.size() > MAX_LAYERS) {
            rank.field("level_list")
                    .orElseThrow()
                    .fault("has " + list.size() + " layers: HCCL takes " + MAX_LAYERS);
        }
        List<Level> levels = new ArrayList<>();
        int before = -1;
        for (Element at : list) {
            Level level = level(at);
            levels.add(level);
            if (level.layer == Element.UNKNOWN) {
                continue;
            }
            Element number = at.field("net_layer").orElseThrow();
            if (levels.size() == 1 && level.layer > 0) {
                number.refusedBy().fault("is " + level.layer + ": a rank's layers begin at 0");
            } else if (level.layer <= before) {
                number.fault(
                        "is "
                                + level.layer
                                + " after "
                                + before
                                + ": layers must be in"
                                + " ascending order");
            }
            before = level.layer;
        }
        return levels;
    }

    private Level level(Element at) {
        int layer = at.number("net_layer", "layer of networks, from 0", MAX_LAYERS - 1);
        Optional<String> instance =
                at.text("net_instance_id", "name of the network that the rank is in");
        at.field("net_instance_id").ifPresent(id -> checkLength(id, MAX_NAME_LENGTH));
        at.field("net_type")
                .filter(type -> !NET_TYPES.contains(type.scalar().orElse("")))
                .ifPresent(
                        type ->
                                type.fault(
                                        "is "
                                                + type.describe()
                                                + ": leave it out, or give one of "
                                                + String.join(", ", NET_TYPES)));
        at.field("net_attr")
                .filter(attribute -> !attribute.isText())
                .ifPresent(
                        attribute ->
                                attribute.fault("is " + attribute.describe() + ": give a text"));
        Optional<Element> list =
                at.required("rank_addr_list", "addresses of the rank in this" + " layer");
        List<String> addresses = list.map(RankListReader::addresses).orElse(List.of());
        if (layer != Element.UNKNOWN && instance.isPresent() && list.isPresent()) {
            checkCount(list.get(), layer + " " + instance.get());
        }
        return new Level(layer, instance, addresses);
    }

    /** Checks that ranks of one network have equally many addresses there. */
    private void checkCount(Element list, String network) {
        int count = list.items().size();
        FirstList first = addressCounts.computeIfAbsent(network, key -> new FirstList(list, count));
        if (first.count != count) {
            list.fault(
                    "has "
                            + count
                            + " addresses, but "
                            + first.at.path()
                            + " of the same network has "
                            + first.count);
        }
    }

    private static List<String> addresses(Element list) {
        if (!list.isArray()) {
            list.fault("is " + list.describe() + ": give an array of addresses");
        }
        List<Element> items = list.items();
        if (items.size() > MAX_ADDRESSES) {
            list.fault("has " + items.size() + " addresses: HCCL takes " + MAX_ADDRESSES);
        }
        List<String> addresses = new ArrayList<>();
        for (Element item : items) {
            if (item.isObject()) {
                address(item).ifPresent(addresses::add);
                readPorts(item);
                item.field("plane_id")
                        .ifPresent(
                                plane -> {
                                    if (!plane.isText()) {
                                        plane.fault("is " + plane.describe() + ": give a text");
                                    }
                                    checkLength(plane, MAX_NAME_LENGTH);
                                });
            } else {
                item.fault("is " + item.describe() + ": give an object");
            }
        }
        return addresses;
    }

    private static Optional<String> address(Element at) {
        Optional<String> type = at.text("addr_type", "EID, IPV4 or IPV6");
        Optional<String> address = at.text("addr", "the address");
        if (type.isEmpty() || address.isEmpty()) {
            return Optional.empty();
        }
        Optional<AddressType> known = AddressType.named(type.get());
        if (known.isEmpty()) {
            Element field = at.field("addr_type").orElseThrow();
            field.fault("is " + field.describe() + ": write EID, IPV4 or IPV6");
            return Optional.empty();
        }
        if (!known.get().fits(address.get())) {
            Element field = at.field("addr").orElseThrow();
            field.fault("is " + field.describe() + ": give " + known.get());
            return Optional.empty();
        }
        return address;
    }

    private static void readPorts(Element at) {
        Optional<Element> list = at.required("ports", "the ports that have the address");
        if (list.isEmpty()) {
            return;
        }
        List<Element> ports = list.get().items();
        if (ports.isEmpty() || ports.size() > MAX_PORTS) {
            list.get()
                    .fault(
                            "is "
                                    + list.get().describe()
                                    + ": give an array of 1 to "
                                    + MAX_PORTS
                                    + " ports");
        }
        for (Element port : ports) {
            port.text();
            checkLength(port, MAX_PORT_LENGTH);
        }
    }

    private static void checkLength(Element at, int most) {
        if (at.scalar().orElse("").length() > most) {
            at.fault("has more than " + most + " characters");
        }
    }
}
