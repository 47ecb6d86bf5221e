package org.jccl.ranktable;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jccl.UsageException;
import org.jccl.internal.checks.Require;

/**
 * One rank of a table and its device.
 *
 * @param rank rank in the world, from 0
 * @param node node, from 0 in the order of the table
 * @param nodeId what the table calls the node, usually its IP address; empty in SCCL 1.0, which
 *     does not name nodes
 * @param localRank rank among those of the node, from 0
 * @param device physical number of the device on its node
 * @param deviceIps addresses of the device's network; empty when the table gives none; in HCCL 2.0
 *     those of all layers of networks, from the innermost, also EIDs
 * @param superDevice number of the device in its super pod, when the table gives it
 * @param superPod the super pod of the node, when the table gives it
 */
public record RankEntry(
        int rank,
        int node,
        String nodeId,
        int localRank,
        int device,
        List<String> deviceIps,
        OptionalLong superDevice,
        Optional<String> superPod) {

    /**
     * Checks the arguments and copies the list of addresses.
     *
     * @param rank rank in the world
     * @param node node
     * @param nodeId name of the node
     * @param localRank rank on the node
     * @param device number of the device
     * @param deviceIps addresses of the device
     * @param superDevice number in the super pod
     * @param superPod the super pod
     * @throws UsageException if something is null
     */
    public RankEntry {
        Require.nonNull(nodeId, "nodeId");
        Require.nonNull(deviceIps, "deviceIps").forEach(ip -> Require.nonNull(ip, "a device's IP"));
        Require.nonNull(superDevice, "superDevice");
        Require.nonNull(superPod, "superPod");
        deviceIps = List.copyOf(deviceIps);
    }
}
