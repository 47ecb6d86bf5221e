package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Reads HCCL's form from before versions: a {@code group_list} of instances. In the form for
 * clusters an instance is a pod, and ranks follow from the order of server ids and device numbers;
 * with a {@code deploy_mode} each instance has its rank.
 */
final class GroupListReader {

    private final boolean ranksAreGiven;
    private final Devices devices = new Devices();
    private final HcclRules rules = new HcclRules();
    private final Map<String, Devices.Node> nodes = new HashMap<>();
    private final Map<String, Element> pods = new HashMap<>();

    private GroupListReader(boolean ranksAreGiven) {
        this.ranksAreGiven = ranksAreGiven;
    }

    static Devices read(Element table) {
        GroupListReader reader = new GroupListReader(table.has("deploy_mode"));
        reader.readGroups(table.onlyText());
        reader.devices.localRanksByRank();
        return reader.devices;
    }

    private void readGroups(Element table) {
        table.field("version")
                .ifPresent(
                        version ->
                                version.fault(
                                        "makes HCCL look for a server_list: remove it, or write"
                                                + " the table in that form"));
        HcclRules.checkCompleted(table);
        List<Element> groups = table.objects("group_list", "list the groups of the job");
        for (Element group : groups) {
            List<Element> instances =
                    group.objects("instance_list", "list the instances of the group");
            int devicesOfGroup = instances.stream().mapToInt(this::readInstance).sum();
            group.mustCount("instance_count", instances.size(), "instances in this group");
            group.mustCount("device_num", devicesOfGroup, "devices in this group");
            group.mustCount("device_count", devicesOfGroup, "devices in this group");
            if (ranksAreGiven) {
                requireCounts(group, devicesOfGroup);
            }
        }
        table.mustCount("group_count", groups.size(), "groups in $.group_list");
        devices.checkDevices("device_id");
        if (ranksAreGiven) {
            table.field("group_list").ifPresent(devices::checkRanks);
        } else {
            rankByServerAndDevice();
        }
        if (ranksAreGiven) {
            table.required("group_count", "number of groups");
            table.required("para_plane_nic_location", "write \"device\"")
                    .ifPresent(at -> at.mustBe("device", "write \"device\""));
        }
        HcclRules.checkAddressCounts(devices);
        HcclRules.checkSizes(devices);
        rules.checkFamilies(devices);
        if (devices.nodes().size() > 1) {
            HcclRules.requireFields(devices);
        }
    }

    /** HCCL forms a world by such a table, and wants all of these. */
    private void requireCounts(Element group, int devicesOfGroup) {
        group.required("group_name", "any text, also an empty one")
                .filter(name -> !name.isText())
                .ifPresent(name -> name.fault("is " + name.describe() + ": give a text"));
        group.required("instance_count", "number of instances in the group");
        group.required("device_num", "number of devices in the group");
        int servers = group.number("server_num", "number of servers of the group");
        Element at = group.field("server_num").orElse(group);
        if (servers == 0 || servers != Element.UNKNOWN && devicesOfGroup % servers != 0) {
            at.fault("is " + servers + ", which does not divide " + devicesOfGroup + " devices");
        } else if (servers != Element.UNKNOWN && servers != devices.nodes().size()) {
            at.refusedBy(AscendChip.ASCEND_910)
                    .fault("is " + servers + ", but there are " + devices.nodes().size());
        }
    }

    /** Returns how many devices it has. */
    private int readInstance(Element instance) {
        if (!ranksAreGiven) {
            instance.text("pod_name", "the process finds its own entry by this name")
                    .ifPresent(
                            name ->
                                    Devices.checkUnique(
                                            pods, name, instance.field("pod_name").orElseThrow()));
        }
        String id = HcclRules.serverId(instance).orElse("");
        Devices.Node node = nodes.computeIfAbsent(id, text -> devices.add(instance, text));
        List<Element> list = instance.objects("devices", "list the devices of the instance");
        Optional<Element> rankAt = Optional.empty();
        int rank = Element.UNKNOWN;
        if (ranksAreGiven) {
            rankAt = instance.required("rank_id", "rank of this instance, from 0");
            rank = rankAt.map(Element::number).orElse(Element.UNKNOWN);
            if (list.size() > 1) {
                instance.fault(
                        "has one rank_id for "
                                + list.size()
                                + " devices: write one instance for each device");
            }
        }
        for (Element device : list) {
            node.rows.add(rules.device(device, rankAt, rank));
        }
        return list.size();
    }

    private void rankByServerAndDevice() {
        List<Devices.Node> sorted = new ArrayList<>(devices.nodes());
        sorted.sort(Comparator.comparing(node -> node.id));
        int next = 0;
        for (Devices.Node node : sorted) {
            node.rows.sort(Comparator.comparingInt(Devices.Row::device));
            for (int i = 0; i < node.rows.size(); i++) {
                node.rows.set(i, node.rows.get(i).withRank(next++));
            }
        }
    }
}
