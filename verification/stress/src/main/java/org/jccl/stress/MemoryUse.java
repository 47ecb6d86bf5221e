package org.jccl.stress;

import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.internal.memory.Memory;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A user of a tensor's memory while another thread closes it. Of the user: 0 when it came too late,
 * 1 when it used the memory, 2 when that was freed meanwhile. Then how often it was freed, and what
 * a user finds who comes later.
 */
@JCStressTest
@Outcome(id = "[01], 1, 0", expect = Expect.ACCEPTABLE, desc = "freed once, after the user")
@Outcome(expect = Expect.FORBIDDEN, desc = "freed while it was used, not at all, or twice")
@State
public class MemoryUse {

    private final AtomicInteger frees = new AtomicInteger();
    private final Memory memory = Memory.owned(frees::incrementAndGet, "memory of a test");

    private int use() {
        if (!memory.acquire()) {
            return 0;
        }
        int freed = frees.get();
        memory.release();
        return freed == 0 ? 1 : 2;
    }

    @Actor
    public void user(III_Result result) {
        result.r1 = use();
    }

    @Actor
    public void owner() {
        memory.close();
    }

    @Arbiter
    public void later(III_Result result) {
        result.r2 = frees.get();
        result.r3 = use();
    }
}
