package org.jccl.cli.ranktable;

import java.util.Collections;
import java.util.List;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableBuilder;
import org.jccl.ranktable.RankTableFormat;

/** Makes the table that {@code tpu_gen_sccl_rank_table} makes of the same arguments. */
final class ScclTool {

    /** Where the tool writes, when the environment names no file. */
    static final String FILE = "sccl_rank_table.json";

    private static final List<List<NestedList.Item>> ONE_NODE =
            List.of(Collections.nCopies(8, new NestedList.Item("127.0.0.1", true)));

    private ScclTool() {}

    /**
     * Makes a table.
     *
     * @param deviceId a list for each node, with the device of each local rank
     * @param deviceIp a list for each node, or null for one node on loopback
     * @throws IllegalArgumentException if an argument is not what the tool takes
     */
    static RankTable table(String deviceId, String deviceIp, boolean emulator) {
        List<List<NestedList.Item>> devices = parse("--device_id", deviceId);
        List<List<NestedList.Item>> ips =
                deviceIp == null ? ONE_NODE : parse("--device_ip", deviceIp);
        String hint =
                deviceIp == null ? "; without --device_ip there is one node of 8 devices" : "";
        if (devices.size() > ips.size()) {
            throw new IllegalArgumentException(
                    "--device_id has "
                            + devices.size()
                            + " nodes, but --device_ip has "
                            + ips.size()
                            + hint);
        }
        RankTableBuilder table =
                RankTable.builder(RankTableFormat.SCCL_1_0)
                        .emulator(emulator)
                        .textDeviceIds(quoted(devices));
        for (int node = 0; node < devices.size(); node++) {
            List<NestedList.Item> list = devices.get(node);
            if (list.size() > ips.get(node).size()) {
                throw new IllegalArgumentException(
                        "node "
                                + node
                                + " has "
                                + list.size()
                                + " devices, but "
                                + ips.get(node).size()
                                + " addresses"
                                + hint);
            }
            table.node("");
            for (int i = 0; i < list.size(); i++) {
                table.device(device(list.get(i).value()), ips.get(node).get(i).value());
            }
        }
        return table.build();
    }

    private static List<List<NestedList.Item>> parse(String option, String text) {
        try {
            return NestedList.parse(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    option + " must be a list of lists, such as [[0,1],[0,1]]: " + e.getMessage(),
                    e);
        }
    }

    /** The tool writes device numbers as they are given. */
    private static boolean quoted(List<List<NestedList.Item>> devices) {
        List<Boolean> kinds =
                devices.stream()
                        .flatMap(List::stream)
                        .map(NestedList.Item::quoted)
                        .distinct()
                        .toList();
        if (kinds.size() > 1) {
            throw new IllegalArgumentException(
                    "--device_id has numbers with and without quotes: write all in one way");
        }
        return kinds.contains(true);
    }

    static int device(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("'" + text + "' is not a device number", e);
        }
    }
}
