package org.jccl.stress;

import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.internal.memory.Memory;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two users at once: none is forgotten, so closing afterwards frees, and nothing before does. */
@JCStressTest
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "freed by closing")
@Outcome(expect = Expect.FORBIDDEN, desc = "a user was counted twice, or not")
@State
public class MemoryUsers {

    private final AtomicInteger frees = new AtomicInteger();
    private final Memory memory = Memory.owned(frees::incrementAndGet, "memory of a test");

    private void use() {
        if (memory.acquire()) {
            memory.release();
        }
    }

    @Actor
    public void firstUser() {
        use();
    }

    @Actor
    public void secondUser() {
        use();
    }

    @Arbiter
    public void later(II_Result result) {
        result.r1 = frees.get();
        memory.close();
        result.r2 = frees.get();
    }
}
