package org.jccl.ranktable;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** The rules of HCCL for a table in every form. One object checks one table. */
final class HcclRules {

    private static final int MAX_ID_LENGTH = 64;
    private static final int MAX_DEVICE = 15;
    private static final int MAX_DEVICE_OF_910 = 7;
    private static final long MAX_SUPER_DEVICE = 0xFFFF_FFFEL;
    private static final List<String> PORTS =
            List.of("device_port", "host_port", "device_vnic_port", "backup_device_port");

    private final Addresses addresses = new Addresses(true);

    /** HCCL reads a table repeatedly until it is completed, for up to 30 minutes. */
    static void checkCompleted(Element table) {
        table.required("status", "write \"completed\", HCCL waits for it")
                .ifPresent(at -> at.mustBe("completed", "HCCL waits until it is \"completed\""));
    }

    /** The id of a server, or empty after a fault. */
    static Optional<String> serverId(Element server) {
        Optional<String> id = server.text("server_id", "the server's IP address or name");
        id.filter(text -> text.length() > MAX_ID_LENGTH)
                .flatMap(tooLong -> server.field("server_id"))
                .ifPresent(field -> field.fault("has more than " + MAX_ID_LENGTH + " characters"));
        return id;
    }

    /** The number and addresses of a device; its rank depends on the form. */
    Devices.Row device(Element device, Optional<Element> rankAt, int rank) {
        int number =
                device.number(
                        "device_id", "physical number of the device on its server", MAX_DEVICE);
        if (number > MAX_DEVICE_OF_910) {
            device.field("device_id")
                    .orElseThrow()
                    .refusedBy(AscendChip.ASCEND_910)
                    .fault("is " + number + ": device numbers go from 0 to " + MAX_DEVICE_OF_910);
        }
        List<String> ips =
                device.field("device_ip")
                        .filter(field -> !field.isEmpty())
                        .filter(HcclRules::hasAddress)
                        .map(addresses::read)
                        .orElse(List.of());
        device.field("backup_device_ip")
                .filter(field -> !field.isEmpty())
                .filter(HcclRules::hasAddress)
                .ifPresent(Addresses::check);
        PORTS.forEach(device::checkPort);
        OptionalLong superDevice = OptionalLong.empty();
        Optional<Element> given = device.field("super_device_id").filter(field -> !field.isEmpty());
        if (given.isPresent()) {
            long value = given.get().number(MAX_SUPER_DEVICE);
            superDevice = value == Element.UNKNOWN ? OptionalLong.empty() : OptionalLong.of(value);
        }
        return new Devices.Row(device, rankAt, rank, Element.UNKNOWN, number, ips, superDevice);
    }

    /** HCCL skips an empty address and refuses a blank one. */
    private static boolean hasAddress(Element field) {
        if (field.isBlank()) {
            field.fault(
                    "is "
                            + field.describe()
                            + ", which HCCL refuses: leave it out on one server, or give the"
                            + " address");
        }
        return !field.isBlank();
    }

    /** Checks that all servers have the same number of devices, as Ascend 910 wants it. */
    static void checkSizes(Devices devices) {
        List<Devices.Node> nodes =
                devices.nodes().stream().filter(node -> !node.rows.isEmpty()).toList();
        for (Devices.Node node : nodes) {
            int first = nodes.get(0).rows.size();
            if (node.rows.size() != first) {
                node.at
                        .refusedBy(AscendChip.ASCEND_910)
                        .fault(
                                "has "
                                        + node.rows.size()
                                        + " devices, but "
                                        + nodes.get(0).at.path()
                                        + " has "
                                        + first
                                        + ": all servers must have the same number");
            }
        }
    }

    /** Checks that devices with addresses have equally many. */
    static void checkAddressCounts(Devices devices) {
        List<Devices.Row> rows =
                devices.rows().stream().filter(row -> !row.ips().isEmpty()).toList();
        for (Devices.Row row : rows) {
            int first = rows.get(0).ips().size();
            if (row.ips().size() != first) {
                Element field = row.at().field("device_ip").orElseThrow();
                field.fault(
                        "has "
                                + row.ips().size()
                                + " addresses, but "
                                + rows.get(0).at().path()
                                + " has "
                                + first
                                + ": all devices must have the same number");
            }
        }
    }

    /**
     * Checks that devices of several servers have addresses. Atlas A3 needs none, and on Ascend 910
     * that of the host does, or an empty text.
     */
    static void requireAddresses(Devices devices) {
        String reason = "devices of several servers need one";
        for (Devices.Node node : devices.nodes()) {
            for (Devices.Row row : node.rows) {
                Optional<Element> field = row.at().field("device_ip");
                if (field.isEmpty() && !node.at.has("host_ip")) {
                    row.at()
                            .refusedBy(AscendChip.ASCEND_910, AscendChip.ATLAS_A2)
                            .missing("device_ip", reason);
                } else if (field.isEmpty()) {
                    row.at().refusedBy(AscendChip.ATLAS_A2).missing("device_ip", reason);
                } else if (field.get().isEmpty()) {
                    field.get().refusedBy(AscendChip.ATLAS_A2).fault("is empty: " + reason);
                }
            }
        }
    }

    /** Checks that devices of several servers have the field, which may be empty. */
    static void requireFields(Devices devices) {
        devices.rows()
                .forEach(row -> row.at().required("device_ip", "the address, or an empty text"));
    }

    /**
     * Checks the addresses of hosts. If that of rank 0's host stands for the device's, each server
     * needs one.
     */
    static void checkHosts(Devices devices) {
        Addresses hosts = new Addresses(false);
        boolean standsForDevice = false;
        for (Devices.Node node : devices.nodes()) {
            Optional<Element> host = node.at.field("host_ip");
            host.filter(at -> hosts.read(at).size() > 1)
                    .ifPresent(at -> at.fault("is " + at.describe() + ": give one address"));
            standsForDevice |=
                    host.isPresent()
                            && node.rows.stream()
                                    .anyMatch(row -> row.rank() == 0 && row.ips().isEmpty());
        }
        hosts.checkFamilies(devices.nodes().size() > 1);
        if (standsForDevice && devices.nodes().size() > 1) {
            devices.nodes()
                    .forEach(node -> node.at.required("host_ip", "rank 0's device has no other"));
        }
    }

    /** Checks that the addresses of devices are of one family, which several servers need. */
    void checkFamilies(Devices devices) {
        addresses.checkFamilies(devices.nodes().size() > 1);
    }

    /** Reads the {@code super_pod_list}, as Atlas A3 does, and puts its ids into the nodes. */
    static void superPods(Element anyChip, Devices devices) {
        Element table = anyChip.refusedBy(AscendChip.ATLAS_A3);
        Map<String, Devices.Node> nodes = new HashMap<>();
        devices.nodes().forEach(node -> nodes.putIfAbsent(node.id, node));
        Map<String, Element> podIds = new HashMap<>();
        Map<String, Element> members = new HashMap<>();
        List<Element> pods = table.objects("super_pod_list", "list the super pods");
        for (Element pod : pods) {
            Optional<String> podId = pod.text("super_pod_id", "name of the super pod");
            podId.ifPresent(
                    id -> Devices.checkUnique(podIds, id, pod.field("super_pod_id").orElseThrow()));
            for (Element server : pod.objects("server_list", "list the servers of the pod")) {
                Optional<String> id = serverId(server);
                if (id.isEmpty()) {
                    continue;
                }
                Element at = server.field("server_id").orElseThrow();
                Devices.checkUnique(members, id.get(), at.refusedBy());
                if (nodes.containsKey(id.get())) {
                    nodes.get(id.get()).superPod = podId;
                } else {
                    at.fault("is " + at.describe() + ", which is not in $.server_list");
                }
            }
        }
        for (Devices.Node node : devices.nodes()) {
            if (!node.id.isEmpty() && !members.containsKey(node.id)) {
                node.at
                        .refusedBy(AscendChip.ATLAS_A3)
                        .fault("is in no super pod of $.super_pod_list");
            }
        }
        checkSuperDevices(devices);
    }

    /** HCCL 1.2 reads the number wherever there is one. */
    static void checkSuperDeviceTexts(Devices devices) {
        for (Devices.Row row : devices.rows()) {
            row.at()
                    .field("super_device_id")
                    .filter(Element::isEmpty)
                    .ifPresent(at -> at.fault("is empty: give the number of the device"));
        }
    }

    private static void checkSuperDevices(Devices devices) {
        Map<List<Object>, Element> seen = new HashMap<>();
        for (Devices.Node node : devices.nodes()) {
            for (Devices.Row row : node.rows) {
                Optional<Element> field =
                        row.at()
                                .refusedBy(AscendChip.ATLAS_A3)
                                .required(
                                        "super_device_id", "number of the device in its super pod");
                if (field.isPresent() && row.superDevice().isPresent()) {
                    List<Object> key = List.of(node.superPod, row.superDevice().getAsLong());
                    Devices.checkUnique(seen, key, field.get());
                }
            }
        }
    }
}
