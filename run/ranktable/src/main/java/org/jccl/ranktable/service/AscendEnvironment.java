package org.jccl.ranktable.service;

import java.util.Map;
import java.util.Optional;
import org.jccl.bootstrap.Membership;
import org.jccl.bootstrap.MembershipReader;
import org.jccl.internal.rendezvous.RankVariables;
import org.jccl.ranktable.RankTable;

/**
 * Ascend's {@code RANK_ID}, {@code RANK_SIZE} and {@code DEVICE_ID}. A rank table defines the
 * number of ranks and which of them are on this host. {@code DEVICE_ID} does so only if each host
 * uses its devices from 0 on.
 *
 * <p>Ascend's operator for Kubernetes sets torchrun's names with other meanings: {@code RANK} is
 * the number of the pod, {@code LOCAL_RANK} lists the devices of the pod, and {@code WORLD_SIZE}
 * counts the devices of all pods. So without {@code jccl run} in the pod, each pod must have one
 * device.
 */
public final class AscendEnvironment extends TableEnvironment {

    /** For the service loader. */
    public AscendEnvironment() {}

    @Override
    public String name() {
        return "Ascend";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return RankVariables.required(environment).containsKey("RANK_ID")
                || environment.containsKey("RANK_SIZE")
                || isPod(environment);
    }

    private static boolean isPod(Map<String, String> environment) {
        return environment.getOrDefault(RankVariables.LOCAL_RANK, "").contains(",")
                || (environment.containsKey("MINDX_TASK_ID")
                        && environment.containsKey(RankVariables.LOCAL_WORLD_SIZE));
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        if (!environment.containsKey("RANK_ID") && isPod(environment)) {
            return readPod(reader);
        }
        int rank = reader.required(0, "rank of this process", "RANK_ID");
        Optional<RankTable> table = table(reader, environment);
        int worldSize =
                reader.requiredOr(table.map(RankTable::size), 1, "number of ranks", "RANK_SIZE");
        table.ifPresent(ranks -> reader.mustAgree("RANK_SIZE", ranks.size(), RankTable.VARIABLE));
        reader.mustAgree(RankVariables.RANK, rank, "RANK_ID");
        reader.mustAgree(RankVariables.WORLD_SIZE, worldSize, "RANK_SIZE");
        tableOf(table, rank)
                .ifPresentOrElse(
                        ranks ->
                                reader.local(
                                        ranks.localRank(rank),
                                        ranks.ranksOf(ranks.node(rank)).size()),
                        () ->
                                reader.local(
                                        reader.optional(0, "DEVICE_ID"), MembershipReader.UNKNOWN));
        return reader.master().membership(rank, worldSize);
    }

    private static Membership readPod(MembershipReader reader) {
        int pod = reader.required(0, "number of this pod", RankVariables.RANK);
        int worldSize =
                reader.required(1, "number of devices of all pods", RankVariables.WORLD_SIZE);
        String devices = reader.text(RankVariables.LOCAL_RANK).orElse("0");
        int ofPod = reader.optional(1, RankVariables.LOCAL_WORLD_SIZE);
        if (ofPod > 1 || !devices.equals("0")) {
            reader.problem(
                    "LOCAL_RANK=%s gives this pod several devices, but this process is the only one: start it by 'jccl run -- java ...' in each pod, which starts one rank for each device, or give each pod one device"
                            .formatted(devices));
        }
        return reader.local(0, 1).requiredMaster().membership(pod, worldSize);
    }
}
