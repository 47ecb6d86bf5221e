package org.jccl.ranktable;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Reads tables with a {@code server_list}: HCCL 1.0 and 1.2, and SCCL's of 2024, which looked like
 * them.
 */
final class ServerListReader {

    private final boolean hccl;
    private final Devices devices = new Devices();
    private final HcclRules rules = new HcclRules();

    private ServerListReader(boolean hccl) {
        this.hccl = hccl;
    }

    static Devices read(Element table, RankTableFormat format) {
        boolean hccl = format != RankTableFormat.SCCL_SERVER_LIST;
        ServerListReader reader = new ServerListReader(hccl);
        reader.read(hccl ? table.onlyText() : table);
        if (hccl) {
            reader.check(table.onlyText(), format == RankTableFormat.HCCL_1_2);
        }
        reader.devices.localRanksByRank();
        return reader.devices;
    }

    private void read(Element table) {
        String idName = hccl ? "server_id" : "server_ip";
        Map<String, Element> ids = new HashMap<>();
        List<Element> servers = table.objects("server_list", "list the servers of the job");
        for (Element server : servers) {
            Optional<String> id =
                    hccl
                            ? HcclRules.serverId(server)
                            : server.text(idName, "the server's IP address");
            id.ifPresent(
                    text -> Devices.checkUnique(ids, text, server.field(idName).orElseThrow()));
            Devices.Node node = devices.add(server, id.orElse(""));
            for (Element device : server.objects("device", "list the devices of the server")) {
                node.rows.add(row(device));
            }
        }
        table.mustCount("server_count", servers.size(), "servers in $.server_list");
        devices.checkDevices("device_id");
        table.field("server_list").ifPresent(devices::checkRanks);
    }

    private Devices.Row row(Element device) {
        int rank = device.number("rank_id", "rank in the job, from 0");
        Optional<Element> rankAt = device.field("rank_id");
        if (hccl) {
            return rules.device(device, rankAt, rank);
        }
        List<String> ips =
                device.field("device_ip").flatMap(Element::text).map(List::of).orElse(List.of());
        return new Devices.Row(
                device,
                rankAt,
                rank,
                Element.UNKNOWN,
                device.number("device_id", "number of the device on its server"),
                ips,
                OptionalLong.empty());
    }

    private void check(Element table, boolean superPods) {
        HcclRules.checkCompleted(table);
        HcclRules.checkSizes(devices);
        HcclRules.checkAddressCounts(devices);
        rules.checkFamilies(devices);
        HcclRules.checkHosts(devices);
        if (superPods) {
            HcclRules.checkSuperDeviceTexts(devices);
        }
        if (superPods && table.has("super_pod_list")) {
            HcclRules.superPods(table, devices);
        }
        if (devices.nodes().size() > 1) {
            HcclRules.requireAddresses(devices);
        }
    }
}
