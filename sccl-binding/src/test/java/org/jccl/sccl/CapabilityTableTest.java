package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

/** The guide's tables say what calls on two ranks did. */
final class CapabilityTableTest {

    private static final Path GUIDE = Path.of("..", "docs", "backends", "sccl.md");

    private static final List<ReduceOp> OPS =
            List.of(
                    ReduceOp.SUM,
                    ReduceOp.PRODUCT,
                    ReduceOp.MIN,
                    ReduceOp.MAX,
                    ReduceOp.AVG,
                    ReduceOp.BAND,
                    ReduceOp.BOR,
                    ReduceOp.BXOR,
                    ReduceOp.premulSum(2));

    private static boolean works(ProcessGroup group, Runnable call) {
        try {
            call.run();
            return true;
        } catch (UsageException e) {
            assertThat(e).as("%s", group).hasMessageContaining("this backend has no");
            return false;
        }
    }

    private static void moveAll(ProcessGroup group, Device device, DataType type) {
        try (Tensor one = Tensor.allocate(device, type, 2);
                Tensor both = Tensor.allocate(device, type, 4);
                Tensor other = Tensor.allocate(device, type, 4)) {
            boolean root = group.rank() == 0;
            List<Tensor> parts = List.of(both.slice(0, 2), both.slice(2, 2));
            List<Tensor> otherParts = List.of(other.slice(0, 2), other.slice(2, 2));
            group.broadcast(one, 0).await();
            group.allGatherSingle(both, one).await();
            group.allGather(parts, one).await();
            group.gather(root ? parts : List.of(), one, 0).await();
            group.scatter(one, root ? parts : List.of(), 0).await();
            group.allToAllSingle(other, both).await();
            group.allToAll(otherParts, parts).await();
            if (root) {
                group.send(one, 1).await();
            } else {
                group.recv(one, 0).await();
            }
            group.barrier().await();
        }
    }

    private static String reductions(
            ProcessGroup group, Device device, DataType type, ReduceOp op) {
        List<Consumer<Tensor>> forms =
                List.of(
                        tensor -> group.allReduce(tensor, op).await(),
                        tensor -> group.reduce(tensor, 1, op).await(),
                        tensor -> {
                            try (Tensor part = Tensor.allocate(device, type, 2)) {
                                group.reduceScatterSingle(part, tensor, op).await();
                            }
                        });
        if (!op.supports(type)) {
            return "";
        }
        List<Boolean> results = new ArrayList<>();
        try (Tensor tensor = Tensor.allocate(device, type, 4)) {
            for (Consumer<Tensor> form : forms) {
                results.add(works(group, () -> form.accept(tensor)));
            }
        }
        assertThat(results).as("%s of %s", op, type).containsOnly(results.get(0));
        return results.get(0) ? "yes" : "no";
    }

    private static String table() throws Exception {
        StringBuilder text = new StringBuilder("| type | moves |");
        OPS.forEach(op -> text.append(' ').append(op.kind()).append(" |"));
        text.append("\n|---|---|").append("---|".repeat(OPS.size())).append('\n');
        World.run(
                2,
                (group, device) -> {
                    for (DataType type : DataType.values()) {
                        StringBuilder row = new StringBuilder("| " + type + " | yes |");
                        moveAll(group, device, type);
                        for (ReduceOp op : OPS) {
                            String cell = reductions(group, device, type, op);
                            row.append(cell.isEmpty() ? " |" : " " + cell + " |");
                        }
                        if (group.rank() == 0) {
                            text.append(row).append('\n');
                        }
                    }
                });
        return text.toString();
    }

    @Test
    void theGuideHasTheTable() throws Exception {
        String table = table();
        assertThat(Files.readString(GUIDE))
                .as("put this into the guide:%n%s", table)
                .contains(table);
    }
}
