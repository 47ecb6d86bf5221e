package org.jccl.internal.group;

import java.time.Duration;
import java.util.List;
import org.jccl.Store;
import org.jccl.internal.membership.Agreement;
import org.jccl.spi.CleanUp;

/**
 * Forms groups of the remaining ranks of a group.
 *
 * @param group the group that lost ranks
 * @param call how often that group was shrunk before
 */
record Shrinking(Group group, int call) implements Agreement.Forming<Group> {

    @Override
    public Group connect(int attempt, List<Integer> ranks, Store store, Duration time) {
        return group.ofRemaining("shrink" + call + "." + attempt, ranks, store, time);
    }

    @Override
    public void discard(Group made) {
        made.abort();
        CleanUp.run(group.context().toString(), made::close);
    }
}
