package org.jccl.stress;

import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.internal.memory.Memory;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** A user leaves while another thread closes, more than once: one of them frees the memory. */
@JCStressTest
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "freed once")
@Outcome(expect = Expect.FORBIDDEN, desc = "not freed, or twice")
@State
public class MemoryClose {

    private final AtomicInteger frees = new AtomicInteger();
    private final Memory memory = Memory.owned(frees::incrementAndGet, "memory of a test");

    public MemoryClose() {
        memory.acquire();
    }

    @Actor
    public void user() {
        memory.release();
    }

    @Actor
    public void owner() {
        memory.close();
        memory.close();
    }

    @Arbiter
    public void later(I_Result result) {
        result.r1 = frees.get();
    }
}
