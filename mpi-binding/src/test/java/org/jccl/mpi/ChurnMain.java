package org.jccl.mpi;

import static org.jccl.testing.Patience.enough;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * Makes and closes sub-groups without an end in common: ranks close them at different times, and
 * leave behind messages nobody receives and collectives that not all have issued. What a group adds
 * up must come from its own members all the same.
 *
 * <p>Arguments: rounds, and the percentage of rounds that leave something behind.
 */
final class ChurnMain {

    private final ProcessGroup world;

    /** Gives all ranks the same numbers. */
    private final Random common = new Random(42);

    private final Random own;

    private ChurnMain(ProcessGroup world) {
        this.world = world;
        own = new Random(world.rank());
    }

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        int spoilt = Integer.parseInt(arguments[1]);
        try (ProcessGroup world =
                ProcessGroup.builder()
                        .backend("mpi")
                        .timeout(enough(Duration.ofSeconds(60)))
                        .build()) {
            ChurnMain churn = new ChurnMain(world);
            for (int round = 0; round < rounds; round++) {
                churn.run(round, churn.common.nextInt(100) < spoilt);
            }
            System.out.println("rank " + world.rank() + " made " + rounds + " groups");
            System.out.flush();
            // Abandoned operations end the process with MPI_Abort, which ends the others, and with
            // them what they printed last.
            world.sync().barrier();
            Thread.sleep(spoilt == 0 ? 0 : 1000);
        }
    }

    private void run(int round, boolean leaveSomething) throws InterruptedException {
        List<Integer> ranks = new ArrayList<>(IntStream.range(0, world.size()).boxed().toList());
        Collections.shuffle(ranks, common);
        List<Integer> members = ranks.subList(0, 1 + common.nextInt(world.size()));
        Optional<ProcessGroup> made;
        if (common.nextBoolean()) {
            made = world.newGroup(members);
        } else {
            int key = members.indexOf(world.rank());
            made = world.split(key < 0 ? -1 : 0, key);
        }
        boolean message = common.nextBoolean();
        if (made.isPresent()) {
            use(made.get(), round, members, leaveSomething, message);
        }
    }

    private void use(
            ProcessGroup group,
            int round,
            List<Integer> members,
            boolean leaveSomething,
            boolean message)
            throws InterruptedException {
        for (int i = 0; i < 2; i++) {
            Tensor tensor = number(round + world.rank());
            if (own.nextBoolean()) {
                group.allReduce(tensor, ReduceOp.SUM).await();
            } else {
                group.sync().allReduce(tensor, ReduceOp.SUM);
            }
            int sum = members.stream().mapToInt(rank -> round + rank).sum();
            expect(tensor, sum, "sum in round " + round + " in " + group);
        }
        if (group.size() > 1 && group.rank() == 0) {
            Tensor tensor = number(0);
            group.recv(tensor, 1).await();
            expect(tensor, round, "message in round " + round + " in " + group);
        } else if (group.rank() == 1) {
            group.send(number(round), 0).await();
        }
        if (leaveSomething && group.size() > 1 && group.rank() == 1) {
            if (message) {
                group.send(number(-round), 0).await();
            } else {
                group.allReduce(number(-round), ReduceOp.SUM);
                group.abort();
            }
        }
        if (own.nextInt(4) == 0) {
            Thread.sleep(own.nextInt(3));
        }
        group.close();
    }

    private static void expect(Tensor tensor, int expected, String what) {
        int[] found = new int[1];
        tensor.copyTo(found);
        if (found[0] != expected) {
            System.out.println("WRONG " + what + ": " + found[0] + " instead of " + expected);
            System.out.flush();
        }
    }

    private static Tensor number(int value) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(4).order(ByteOrder.nativeOrder());
        bytes.putInt(0, value);
        return Tensor.of(bytes.asIntBuffer());
    }
}
