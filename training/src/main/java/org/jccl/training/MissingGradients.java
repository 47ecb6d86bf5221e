package org.jccl.training;

import java.util.ArrayList;
import java.util.List;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;

/** Describes the gradients that never became ready in a step. */
final class MissingGradients {

    /** Maximum number of names in a message; the others are counted. */
    private static final int NAMED = 10;

    private MissingGradients() {}

    /** Returns the failure for this rank's missing gradients. */
    static MissingGradientException here(ProcessGroup group, List<Gradient> gradients) {
        return exception(
                group,
                gradients.stream().filter(Gradient::isMissing).map(Gradient::toString).toList());
    }

    /** Returns the failure for the missing gradients of all ranks. All ranks must call it. */
    static MissingGradientException anywhere(
            ProcessGroup group, Device device, List<Gradient> gradients, boolean takesPart) {
        int[] mine = new int[gradients.size()];
        for (int i = 0; i < mine.length; i++) {
            mine[i] = takesPart && gradients.get(i).isMissing() ? 1 : 0;
        }
        int[] all = ModelCheck.gather(group, device, mine);
        List<String> names = new ArrayList<>();
        for (int i = 0; i < mine.length; i++) {
            List<String> ranks = new ArrayList<>();
            for (int rank = 0; rank < group.size(); rank++) {
                if (all[rank * mine.length + i] != 0) {
                    ranks.add(String.valueOf(rank));
                }
            }
            if (!ranks.isEmpty()) {
                names.add(
                        gradients.get(i)
                                + (ranks.size() == 1 ? " on rank " : " on ranks ")
                                + String.join(", ", ranks));
            }
        }
        return exception(group, names);
    }

    private static MissingGradientException exception(ProcessGroup group, List<String> missing) {
        String names = String.join(", ", missing.subList(0, Math.min(NAMED, missing.size())));
        return new MissingGradientException(
                FailureContext.ofGroup(group.name(), group.rank()),
                "gradients never became ready in this step: "
                        + names
                        + (missing.size() > NAMED
                                ? " and " + Counted.of(missing.size() - NAMED, "other")
                                : "")
                        + "; call ready for each, or build the reducer with unusedGradients(true)"
                        + " where a step may leave some out");
    }
}
