package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jccl.ranktable.json.Json;

/** Makes the JSON of new tables: names, order and types of the fields in each form. */
final class TableWriter {

    /**
     * A node of a new table.
     *
     * @param id its name
     * @param superPod its super pod
     * @param devices its devices, in the order of local ranks
     */
    record Node(String id, Optional<String> superPod, List<RankEntry> devices) {}

    /**
     * An address of a device, in HCCL 2.0.
     *
     * @param layer of networks, from 0
     * @param network the instance of the layer
     * @param plane the part of the network
     * @param type how the address is written
     * @param address the address
     * @param ports that have it
     */
    record Place(
            int layer,
            String network,
            String plane,
            AddressType type,
            String address,
            List<String> ports) {}

    private TableWriter() {}

    /**
     * SCCL 1.0.
     *
     * @param ipName {@code device_ip} or {@code device_ip_emulator}
     * @param textIds true to write device numbers in quotes
     */
    static Json sccl(List<Node> nodes, String ipName, boolean textIds) {
        List<Json> list = new ArrayList<>();
        for (Node node : nodes) {
            List<Json> devices = new ArrayList<>();
            for (RankEntry entry : node.devices()) {
                Map<String, Json> device = new LinkedHashMap<>();
                device.put(
                        "device_id", textIds ? text(entry.device()) : new Json.Num(entry.device()));
                if (!entry.deviceIps().isEmpty()) {
                    device.put(ipName, new Json.Text(entry.deviceIps().get(0)));
                }
                device.put("local_rank", text(entry.localRank()));
                device.put("rank", text(entry.rank()));
                devices.add(new Json.Obj(device));
            }
            list.add(new Json.Obj(Map.of("device_list", new Json.Array(devices))));
        }
        Map<String, Json> table = new LinkedHashMap<>();
        table.put("version", new Json.Text("1.0"));
        table.put("node_list", new Json.Array(list));
        return new Json.Obj(table);
    }

    /**
     * HCCL 1.0 or 1.2, whose numbers are all in quotes.
     *
     * @param version {@code 1.0} or {@code 1.2}, which has super pods
     */
    static Json hccl(List<Node> nodes, String version) {
        boolean superPods = version.equals("1.2");
        List<Json> servers = new ArrayList<>();
        Map<String, List<Json>> pods = new LinkedHashMap<>();
        for (Node node : nodes) {
            List<Json> devices = new ArrayList<>();
            for (RankEntry entry : node.devices()) {
                Map<String, Json> device = new LinkedHashMap<>();
                device.put("device_id", text(entry.device()));
                if (superPods && entry.superDevice().isPresent()) {
                    device.put("super_device_id", text(entry.superDevice().getAsLong()));
                }
                if (!entry.deviceIps().isEmpty()) {
                    device.put("device_ip", new Json.Text(String.join(",", entry.deviceIps())));
                }
                device.put("rank_id", text(entry.rank()));
                devices.add(new Json.Obj(device));
            }
            Map<String, Json> server = new LinkedHashMap<>();
            server.put("server_id", new Json.Text(node.id()));
            server.put("device", new Json.Array(devices));
            servers.add(new Json.Obj(server));
            node.superPod()
                    .ifPresent(
                            pod ->
                                    pods.computeIfAbsent(pod, id -> new ArrayList<>())
                                            .add(
                                                    new Json.Obj(
                                                            Map.of(
                                                                    "server_id",
                                                                    new Json.Text(node.id())))));
        }
        Map<String, Json> table = new LinkedHashMap<>();
        table.put("version", new Json.Text(version));
        table.put("status", new Json.Text("completed"));
        table.put("server_count", text(servers.size()));
        table.put("server_list", new Json.Array(servers));
        if (superPods && !pods.isEmpty()) {
            table.put("super_pod_list", superPods(pods));
        }
        return new Json.Obj(table);
    }

    /**
     * HCCL 2.0, whose numbers are not in quotes.
     *
     * @param places of each rank
     */
    static Json rankList(List<Node> nodes, Map<Integer, List<Place>> places) {
        List<Json> ranks = new ArrayList<>();
        for (Node node : nodes) {
            for (RankEntry entry : node.devices()) {
                Map<String, Json> rank = new LinkedHashMap<>();
                rank.put("rank_id", new Json.Num(entry.rank()));
                // The number in topology files.
                rank.put("local_id", new Json.Num(entry.device()));
                rank.put("device_id", new Json.Num(entry.device()));
                rank.put("level_list", levels(places.getOrDefault(entry.rank(), List.of())));
                ranks.add(new Json.Obj(rank));
            }
        }
        Map<String, Json> table = new LinkedHashMap<>();
        table.put("version", new Json.Text("2.0"));
        table.put("status", new Json.Text("completed"));
        table.put("rank_count", new Json.Num(ranks.size()));
        table.put("rank_list", new Json.Array(ranks));
        return new Json.Obj(table);
    }

    private static Json levels(List<Place> places) {
        Map<Integer, List<Place>> layers = new TreeMap<>();
        for (Place place : places) {
            layers.computeIfAbsent(place.layer(), layer -> new ArrayList<>()).add(place);
        }
        List<Json> levels = new ArrayList<>();
        layers.forEach(
                (layer, list) -> {
                    Map<String, Json> level = new LinkedHashMap<>();
                    level.put("net_layer", new Json.Num(layer));
                    level.put("net_instance_id", new Json.Text(list.get(0).network()));
                    level.put("net_type", new Json.Text(layer == 0 ? "TOPO_FILE_DESC" : "CLOS"));
                    level.put(
                            "rank_addr_list",
                            new Json.Array(list.stream().map(TableWriter::address).toList()));
                    levels.add(new Json.Obj(level));
                });
        return new Json.Array(levels);
    }

    private static Json address(Place place) {
        Map<String, Json> address = new LinkedHashMap<>();
        address.put("addr_type", new Json.Text(place.type().name()));
        address.put("addr", new Json.Text(place.address()));
        List<Json> ports = new ArrayList<>();
        place.ports().forEach(port -> ports.add(new Json.Text(port)));
        address.put("ports", new Json.Array(ports));
        address.put("plane_id", new Json.Text(place.plane()));
        return new Json.Obj(address);
    }

    private static Json superPods(Map<String, List<Json>> pods) {
        List<Json> list = new ArrayList<>();
        pods.forEach(
                (id, servers) -> {
                    Map<String, Json> pod = new LinkedHashMap<>();
                    pod.put("super_pod_id", new Json.Text(id));
                    pod.put("server_list", new Json.Array(servers));
                    list.add(new Json.Obj(pod));
                });
        return new Json.Array(list);
    }

    private static Json text(long number) {
        return new Json.Text(Long.toString(number));
    }
}
