package org.jccl.pytorch;

import static org.bytedeco.pytorch.global.torch.arange;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.bytedeco.pytorch.global.torch_cuda;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.Work;

/** Tensors that PyTorch and JCCL share, and the order in which they use them. */
final class MemoryChecks extends DeviceChecks {

    private static final Map<ScalarType, DataType> TYPES = new LinkedHashMap<>();

    static {
        TYPES.put(ScalarType.Float, DataType.FLOAT32);
        TYPES.put(ScalarType.Half, DataType.FLOAT16);
        TYPES.put(ScalarType.BFloat16, DataType.BFLOAT16);
        TYPES.put(ScalarType.Double, DataType.FLOAT64);
        TYPES.put(ScalarType.Long, DataType.INT64);
        TYPES.put(ScalarType.Int, DataType.INT32);
        TYPES.put(ScalarType.Byte, DataType.UINT8);
    }

    MemoryChecks(ProcessGroup group, Device device) {
        super(group, device);
    }

    private Tensor numbers(int rows, int columns, ScalarType type) {
        return onDevice(arange(new Scalar(rows * columns)).to(type).view(rows, columns));
    }

    private void requireNumbers(String name, Tensor tensor, double... expected) {
        Tensor host = tensor.detach().cpu().to(ScalarType.Double).contiguous();
        double[] found = TorchTensors.of(host).copyTo(new double[expected.length]);
        require(
                Arrays.equals(found, expected),
                "%s is %s, expected %s",
                name,
                Arrays.toString(found),
                Arrays.toString(expected));
    }

    String tensorsShareMemory() {
        TYPES.forEach(
                (type, expected) -> {
                    Tensor whole = numbers(4, 2, type);
                    Tensor middle = whole.narrow(0, 1, 2);
                    org.jccl.Tensor same = TorchTensors.of(middle);
                    require(same.device().equals(device), "it is on %s", same.device());
                    require(same.dataType() == expected, "it is of type %s", same.dataType());
                    require(same.count() == 4, "it has %d elements", same.count());
                    long offset = same.address() - TorchTensors.address(whole);
                    require(offset == 2L * expected.size(), "it begins at %d", offset);
                    allReduce(middle);
                    int n = group.size();
                    requireNumbers(
                            type + " after all_reduce",
                            whole,
                            0,
                            1,
                            2 * n,
                            3 * n,
                            4 * n,
                            5 * n,
                            6,
                            7);
                    Tensor all = onDevice(arange(new Scalar(2 * n)).to(type).zero_());
                    Tensor one = numbers(1, 2, type).add_(new Scalar(group.rank()));
                    TorchStreams.onCurrent(
                            device,
                            () ->
                                    group.allGatherSingle(
                                                    TorchTensors.of(all), TorchTensors.of(one))
                                            .await());
                    double[] gathered = new double[2 * n];
                    Arrays.setAll(gathered, i -> i / 2 + i % 2);
                    requireNumbers(type + " after all_gather", all, gathered);
                });
        Tensor turned = numbers(2, 3, ScalarType.Float).t();
        String refusal = failure(UsageException.class, () -> TorchTensors.of(turned));
        require(refusal.contains("strides [1, 3]"), refusal);
        return TYPES.keySet().toString();
    }

    String viewsShareMemory() {
        TYPES.forEach(
                (type, of) -> {
                    org.jccl.Tensor memory = org.jccl.Tensor.allocate(device, of, 6);
                    Tensor view = TorchTensors.view(memory, 2, 3);
                    require(TorchTensors.address(view) == memory.address(), "other memory");
                    require(view.scalar_type().intern() == type, "%s", view.scalar_type());
                    require(view.device().equals(torchDevice), "%s", view.device().str());
                    require(
                            Arrays.equals(TorchTensors.strides(view), new long[] {3, 1}),
                            "strides %s",
                            Arrays.toString(TorchTensors.strides(view)));
                    view.copy_(numbers(2, 3, type));
                    TorchStreams.onCurrent(
                            device, () -> group.allReduce(memory, ReduceOp.SUM).await());
                    int n = group.size();
                    requireNumbers("a view of " + of, view, 0, n, 2 * n, 3 * n, 4 * n, 5 * n);
                    requireNumbers("turned, " + of, view.t(), 0, 3 * n, n, 4 * n, 2 * n, 5 * n);
                    memory.close();
                    String refusal = failure(RuntimeException.class, () -> view.add(view));
                    require(refusal.contains("is closed"), refusal);
                });
        return TYPES.values().toString();
    }

    String order(boolean otherStream) throws Exception {
        String found = otherStream ? onAnotherStream(this::order) : order();
        return otherStream && !device.isCpu()
                ? found + "; " + onAnotherStream(this::withoutTorchStreams)
                : found;
    }

    /** Nothing here waits on the host between a slow computation, a collective and its use. */
    private String order() {
        int busyBefore = 0;
        int busyAfter = 0;
        int rounds = 3;
        for (int round = 0; round < rounds; round++) {
            try (Tensor x = stale();
                    Tensor slow = slowly(10 * round + group.rank())) {
                x.copy_(slow);
                busyBefore += isBusy() ? 1 : 0;
                allReduce(x);
                busyAfter += isBusy() ? 1 : 0;
                Tensor doubled = x.mul(new Scalar(2f));
                x.fill_(new Scalar(-5f));
                int n = group.size();
                double sum = 10 * round * n + n * (n - 1) / 2;
                requireFilled("the doubled sum", doubled, 2 * sum);
                requireFilled("what replaced it", x, -5);
            }
        }
        return "busy before the collective in %d, after it in %d of %d rounds"
                .formatted(busyBefore, busyAfter, rounds);
    }

    /** Shows that the check would notice: JCCL does not know of PyTorch's stream here. */
    private String withoutTorchStreams() {
        Tensor x = stale();
        x.copy_(slowly(7));
        group.allReduce(TorchTensors.of(x), ReduceOp.SUM).await();
        torch_cuda.device_synchronize();
        float right = 7f * group.size();
        boolean same = x.min().item_float() == right && x.max().item_float() == right;
        return "without TorchStreams " + (same ? "right by chance" : "wrong, as expected");
    }

    String memoryInUseIsNotReused() throws Exception {
        return onAnotherStream(
                () -> {
                    Tensor slow = slowly(1);
                    Tensor x = slow.clone();
                    Work work = begin(x);
                    long address = TorchTensors.address(x);
                    x.close();
                    for (int i = 0; i < 3; i++) {
                        System.gc();
                        Thread.sleep(10);
                    }
                    List<Tensor> others = new ArrayList<>();
                    boolean reused = false;
                    for (int i = 0; i < 6; i++) {
                        Tensor other = slow.mul(new Scalar(0f)).add_(new Scalar(7f));
                        reused |= TorchTensors.address(other) == address && !work.isCompleted();
                        others.add(other);
                    }
                    boolean inFlight = !work.isCompleted();
                    require(!reused, "memory of the collective was given to another tensor");
                    await(work);
                    for (Tensor other : others) {
                        requireFilled("another tensor", other, 7);
                        other.close();
                    }
                    slow.close();
                    return inFlight ? "the collective was under way" : "it was done already";
                });
    }
}
