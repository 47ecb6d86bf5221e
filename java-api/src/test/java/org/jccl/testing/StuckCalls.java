package org.jccl.testing;

import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.Work;

/**
 * What other threads of a program do while one thread never leaves a library: they issue and await
 * operations, abort and close the group. Each of these calls must return. It prints how, in a
 * {@link ChildJvm}, since the stuck thread stays as long as its process.
 */
public final class StuckCalls {

    /** Printed when all calls have returned. */
    public static final String ALL_RETURNED = "all calls have returned";

    /** Far beyond the deadlines and grace periods that such a call has. */
    private static final Duration LIMIT = enough(Duration.ofSeconds(100));

    private static final long POLL_MILLIS = 5;

    private final ProcessGroup group;
    private final Tensor tensor;
    private boolean hung;

    private StuckCalls(ProcessGroup group, Tensor tensor) {
        this.group = group;
        this.tensor = tensor;
    }

    /**
     * Runs a call that gets stuck inside a library, and the calls of other threads.
     *
     * @param group of at least two ranks, with a short timeout
     * @param tensor of a few floats, that nothing else uses
     * @param method the native method in which the call gets stuck
     * @param stuck the call
     * @throws InterruptedException if the calling thread is interrupted
     */
    public static void run(ProcessGroup group, Tensor tensor, String method, Runnable stuck)
            throws InterruptedException {
        run(group, tensor, method, stuck, true);
    }

    /**
     * The same, for a library in which a synchronous collective may not be issued.
     *
     * @param group of at least two ranks, with a short timeout
     * @param tensor of a few floats, that nothing else uses
     * @param method the native method in which the call gets stuck
     * @param stuck the call
     * @param synchronous whether other threads issue a synchronous collective before the group
     *     fails; where nothing ends that, the job ends
     * @throws InterruptedException if the calling thread is interrupted
     */
    public static void run(
            ProcessGroup group, Tensor tensor, String method, Runnable stuck, boolean synchronous)
            throws InterruptedException {
        Thread inside = new Thread(stuck, "stuck");
        inside.setDaemon(true);
        inside.start();
        awaitInside(inside, method);
        new StuckCalls(group, tensor).callWhile(method, synchronous);
    }

    private static void awaitInside(Thread thread, String method) throws InterruptedException {
        while (!isInside(method)) {
            if (!thread.isAlive()) {
                throw new AssertionError("the call is not stuck in " + method);
            }
            Thread.sleep(POLL_MILLIS);
        }
    }

    /** Looks at all threads, because a binding may make the call on a thread of its own. */
    private static boolean isInside(String method) {
        return Thread.getAllStackTraces().values().stream()
                .flatMap(Arrays::stream)
                .anyMatch(frame -> frame.isNativeMethod() && frame.getMethodName().equals(method));
    }

    private void callWhile(String method, boolean synchronous) {
        // They wait for the stuck thread until the group fails by its deadline.
        List<CompletableFuture<String>> waiting = new ArrayList<>();
        if (synchronous) {
            waiting.add(start(() -> group.sync().allReduce(tensor, ReduceOp.SUM)));
        }
        waiting.add(start(() -> group.allReduce(tensor, ReduceOp.SUM).await()));
        waiting.add(start(() -> group.allReduce(tensor, ReduceOp.SUM).synchronize()));
        waiting.add(start(() -> group.barrier().toFuture().join()));
        waiting.add(start(this::batch));
        for (int i = 0; i < waiting.size(); i++) {
            report("waiting call " + i, waiting.get(i));
        }
        report("later call", start(() -> group.allReduce(tensor, ReduceOp.SUM).await()));
        report("later synchronous call", start(() -> group.sync().barrier()));
        report("copy", start(() -> tensor.copyTo(new float[(int) tensor.count()])));
        report("abort", start(group::abort));
        report("close", start(group::close));
        if (!isInside(method)) {
            System.out.println("the stuck call has returned, so nothing was tested");
        } else if (!hung) {
            System.out.println(ALL_RETURNED);
        }
    }

    private void batch() {
        Tensor second = Tensor.allocate(tensor.device(), DataType.FLOAT32, tensor.count());
        group.batch().send(tensor, 1, 0).recv(second, 1, 0).issue().forEach(Work::synchronize);
    }

    private static CompletableFuture<String> start(Runnable call) {
        CompletableFuture<String> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> outcome.complete(outcome(call)), "other");
        thread.setDaemon(true);
        thread.start();
        return outcome;
    }

    private static String outcome(Runnable call) {
        try {
            call.run();
            return "returned";
        } catch (JcclException e) {
            return e.getClass().getSimpleName() + ": " + e.getMessage();
        } catch (RuntimeException | Error e) {
            return e.toString();
        }
    }

    private void report(String what, CompletableFuture<String> call) {
        String outcome;
        try {
            outcome = call.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            hung = true;
            outcome = "HUNG";
        } catch (InterruptedException | ExecutionException e) {
            throw new AssertionError(e);
        }
        System.out.println(what + ": " + outcome);
    }
}
