package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Valid tables by chance, and texts that are nearly tables. */
final class Tables {

    private static final List<RankTableFormat> FORMATS =
            List.of(
                    RankTableFormat.SCCL_1_0,
                    RankTableFormat.HCCL_1_0,
                    RankTableFormat.HCCL_1_2,
                    RankTableFormat.HCCL_2_0);

    private static final String[] PIECES = {
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "\\ud800",
        "0",
        "-1",
        "1e9",
        "9999999999",
        "99999999999999999999",
        "null",
        "true",
        "\"\"",
        "{}",
        "[]",
        "\uFEFF",
        "\ud800",
        "\u0000",
        "\"rank\"",
        "\"rank_id\"",
        "\"device_id\"",
        "\"version\":\"1.2\",",
        "\"super_pod_list\":[],",
        "\"server_list\":",
        "\"node_list\":",
        "\"group_list\":",
        "\"deploy_mode\":\"lab\",",
        "\"rank_list\":",
        "\"net_layer\":",
        "\"addr\":",
        "::1"
    };

    private final Random random;

    Tables(long seed) {
        random = new Random(seed);
    }

    RankTable valid() {
        RankTableFormat format = FORMATS.get(random.nextInt(FORMATS.size()));
        boolean sccl = format == RankTableFormat.SCCL_1_0;
        RankTableBuilder builder =
                RankTable.builder(format)
                        .emulator(sccl && random.nextBoolean())
                        .textDeviceIds(sccl && random.nextBoolean());
        int nodes = 1 + random.nextInt(4);
        int perNode = 1 + random.nextInt(8);
        boolean pods = format == RankTableFormat.HCCL_1_2 && random.nextBoolean();
        boolean layers = format == RankTableFormat.HCCL_2_0;
        boolean addresses = nodes > 1 || random.nextBoolean();
        for (int node = 0; node < nodes; node++) {
            if (pods) {
                builder.superPod("pod \u00e9" + node / 2);
            }
            builder.node("10.0.0." + node);
            List<Integer> devices = new ArrayList<>();
            for (int i = 0; i < perNode; i++) {
                devices.add(i);
            }
            Collections.shuffle(devices, random);
            for (int device : devices) {
                String ip = "10.1." + node + "." + device;
                String[] ips = addresses && !layers ? new String[] {ip} : new String[0];
                if (pods) {
                    builder.superDevice(device, node * 65536L + device, ips);
                } else {
                    builder.device(device, ips);
                }
                if (layers) {
                    builder.address(0, "10.0.0." + node, "0", ip, "0/0", "1/0");
                    if (addresses) {
                        builder.address(1, "n \u00e9", "a", "fd00::" + node + ":" + device, "0/1")
                                .address(1, "n \u00e9", "b", "10.2." + node + "." + device, "0/2");
                    }
                }
            }
        }
        return builder.build();
    }

    /** The text with a few places changed. */
    String damaged(String text) {
        StringBuilder damaged = new StringBuilder(text);
        int changes = 1 + random.nextInt(4);
        for (int i = 0; i < changes; i++) {
            int from = random.nextInt(damaged.length() + 1);
            int to = Math.min(damaged.length(), from + random.nextInt(12));
            switch (random.nextInt(4)) {
                case 0 -> damaged.delete(from, to);
                case 1 -> damaged.insert(from, damaged.substring(from, to));
                case 2 -> damaged.replace(from, to, PIECES[random.nextInt(PIECES.length)]);
                default -> damaged.insert(from, PIECES[random.nextInt(PIECES.length)]);
            }
        }
        return damaged.toString();
    }
}
