package org.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.bytedeco.pytorch.global.torch.empty;
import static org.bytedeco.pytorch.global.torch.ones;
import static org.bytedeco.pytorch.global.torch.zeros;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.training.NamedTensor;
import org.jccl.training.ShardedParameters;
import org.jccl.training.ShardedUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class TorchTensorsTest {

    @BeforeAll
    static void load() {
        TorchLibrary.load();
    }

    private static void refused(Tensor tensor, String words) {
        assertThatThrownBy(() -> TorchTensors.of(tensor))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(words);
    }

    @Test
    void sharesMemory() {
        Tensor tensor = zeros(2, 3);
        org.jccl.Tensor same = TorchTensors.of(tensor);
        assertThat(same.count()).isEqualTo(6);
        assertThat(same.dataType()).isEqualTo(DataType.FLOAT32);
        assertThat(same.device()).isEqualTo(Device.CPU);
        same.copyFrom(new float[] {1, 2, 3, 4, 5, 6});
        assertThat(tensor.sum().item_float()).isEqualTo(21);
        tensor.mul_(zeros(1).add_(ones(1)).add_(ones(1)));
        assertThat(same.copyTo(new float[6])).containsExactly(2, 4, 6, 8, 10, 12);
    }

    @Test
    void beginsWhereAViewBegins() {
        Tensor tensor = zeros(4, 3);
        TorchTensors.of(tensor.narrow(0, 1, 2)).copyFrom(new float[] {1, 1, 1, 1, 1, 1});
        assertThat(TorchTensors.of(tensor).copyTo(new float[12]))
                .containsExactly(0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0);
        assertThat(TorchTensors.of(zeros(3, 0)).count()).isZero();
        assertThat(TorchTensors.of(zeros(3).sum()).count()).isEqualTo(1);
    }

    @Test
    void hasEveryTypeThatBothHave() {
        Map<ScalarType, DataType> types =
                Map.ofEntries(
                        Map.entry(ScalarType.Byte, DataType.UINT8),
                        Map.entry(ScalarType.Char, DataType.INT8),
                        Map.entry(ScalarType.Short, DataType.INT16),
                        Map.entry(ScalarType.Int, DataType.INT32),
                        Map.entry(ScalarType.Long, DataType.INT64),
                        Map.entry(ScalarType.Half, DataType.FLOAT16),
                        Map.entry(ScalarType.BFloat16, DataType.BFLOAT16),
                        Map.entry(ScalarType.Float, DataType.FLOAT32),
                        Map.entry(ScalarType.Double, DataType.FLOAT64),
                        Map.entry(ScalarType.Bool, DataType.BOOL),
                        Map.entry(ScalarType.Float8_e4m3fn, DataType.FLOAT8_E4M3),
                        Map.entry(ScalarType.Float8_e5m2, DataType.FLOAT8_E5M2));
        assertThat(types.values()).containsExactlyInAnyOrder(DataType.values());
        types.forEach(
                (theirs, ours) -> {
                    Tensor tensor = zeros(5).to(theirs);
                    org.jccl.Tensor same = TorchTensors.of(tensor);
                    assertThat(same.dataType()).isEqualTo(ours);
                    assertThat(same.byteSize()).isEqualTo(tensor.nbytes());
                });
        refused(zeros(5).to(ScalarType.ComplexFloat), "is of type ComplexFloat");
    }

    @Test
    void refusesWhatIsNoPlainMemory() {
        refused(null, "is null");
        refused(new Tensor(), "is undefined");
        Tensor closed = zeros(2);
        closed.close();
        refused(closed, "is closed");
        refused(
                zeros(2, 3).t(),
                "is not contiguous: it has shape [3, 2] and strides [1, 3]; use a contiguous() copy");
        refused(zeros(2, 3).to_sparse(), "has the layout Sparse");
        TensorOptions meta = new TensorOptions(new org.bytedeco.pytorch.Device("meta"));
        refused(empty(new long[] {3}, meta, new MemoryFormatOptional()), "is on meta");
        refused(zeros(3)._neg_view(), "negated lazily");
    }

    /** PyTorch hands such a tensor out without a word. */
    @Test
    void refusesMoreElementsThanThereIsMemory() {
        Tensor tensor = zeros(100);
        Tensor across = tensor.narrow(0, 5, 6);
        Tensor inside = tensor.narrow(0, 5, 5);
        tensor.storage().set_nbytes(40);
        refused(tensor, "has elements at bytes 0 to 400 of a storage of 40");
        refused(across, "has elements at bytes 20 to 44 of a storage of 40");
        assertThat(TorchTensors.of(inside).count()).isEqualTo(5);
        tensor.storage().set_nbytes(400);
    }

    /** What comes next in the memory would show if it were free. */
    @Test
    void keepsTheMemoryWhenPyTorchsHandleEnds() {
        org.jccl.Tensor ofScope;
        try (PointerScope scope = new PointerScope()) {
            ofScope = TorchTensors.of(ones(1000));
            assertThat(scope.toString()).isNotNull();
        }
        Tensor closed = ones(1000);
        org.jccl.Tensor ofClosed = TorchTensors.of(closed);
        closed.close();
        Tensor exchanged = ones(1000);
        org.jccl.Tensor ofExchanged = TorchTensors.of(exchanged);
        exchanged.set_(zeros(5));
        for (int i = 0; i < 100; i++) {
            zeros(1000).close();
        }
        float[] values = new float[1000];
        assertThat(ofScope.copyTo(values)).containsOnly(1);
        assertThat(ofClosed.copyTo(values)).containsOnly(1);
        assertThat(ofExchanged.copyTo(values)).containsOnly(1);
    }

    @Test
    void pytorchSharesOurMemory() {
        try (org.jccl.Tensor ours = org.jccl.Tensor.copyOf(new float[] {1, 2, 3, 4, 5, 6})) {
            try (Tensor view = TorchTensors.view(ours, 2, 3);
                    Tensor flat = TorchTensors.view(ours.slice(2, 4));
                    Tensor second = view.narrow(0, 1, 1)) {
                assertThat(TorchTensors.address(view)).isEqualTo(ours.address());
                assertThat(TorchTensors.shape(view)).containsExactly(2, 3);
                assertThat(TorchTensors.shape(flat)).containsExactly(4);
                assertThat(second.sum().item_float()).isEqualTo(15);
                flat.mul_(ones(1).add_(ones(1)));
                assertThat(ours.copyTo(new float[6])).containsExactly(1, 2, 6, 8, 10, 12);
                assertThat(TorchTensors.of(view).address()).isEqualTo(ours.address());
            }
            assertThat(TorchTensors.view(ours.slice(6, 0), 0, 3).numel()).isZero();
        }
        for (DataType type : DataType.values()) {
            try (org.jccl.Tensor ours = org.jccl.Tensor.allocate(Device.CPU, type, 3);
                    Tensor view = TorchTensors.view(ours)) {
                assertThat(TorchTensors.of(view).dataType()).isEqualTo(type);
            }
        }
    }

    @Test
    void viewsOutsideOfTheMemoryAreRefused() {
        org.jccl.Tensor ours = org.jccl.Tensor.copyOf(new float[6]);
        long huge = 1L << 62;
        for (long[] shape : new long[][] {{7}, {5}, {2, 2}, {-2, -3}, {huge, 8}, {6, huge, 4}}) {
            viewRefused(ours, "has no view of shape", shape);
        }
        viewRefused(null, "the tensor is null", 6);
        viewRefused(ours, "shape is null", (long[]) null);
        Device npu = new Device("npu", 0);
        viewRefused(org.jccl.Tensor.of(4096, 6, DataType.FLOAT32, npu, null), "on npu:0", 6);
        ours.close();
        viewRefused(ours, "is closed", 6);
        viewRefused(ours.slice(0, 3), "is closed", 3);
    }

    private static void viewRefused(org.jccl.Tensor tensor, String words, long... shape) {
        assertThatThrownBy(() -> TorchTensors.view(tensor, shape))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(words);
    }

    /** An exception instead of the numbers that come next in the memory. */
    @Test
    void aViewOfAClosedTensorIsNotRead() {
        org.jccl.Tensor ours = org.jccl.Tensor.copyOf(new float[] {1, 2, 3, 4, 5, 6});
        Tensor view = TorchTensors.view(ours, 2, 3);
        Tensor ofSlice = TorchTensors.view(ours.slice(2, 4));
        Tensor second = TorchTensors.view(ours);
        Tensor part = view.narrow(0, 1, 1);
        Tensor turned = view.t();
        second.close();
        Tensor copy = view.clone();
        Tensor loss = ones(2, 3).set_requires_grad(true).mul(view).sum();
        ours.slice(1, 2).close();
        assertThatThrownBy(loss::backward).hasMessageContaining("is closed");
        for (Tensor each : new Tensor[] {view, ofSlice, part, turned}) {
            for (ThrowingCallable use :
                    new ThrowingCallable[] {
                        () -> each.sum(),
                        () -> each.add(ones(1)),
                        () -> each.add_(ones(1)),
                        () -> each.zero_(),
                        () -> each.copy_(ones(1)),
                        () -> ones(1).expand(4).clone().add_(each.flatten().narrow(0, 0, 1)),
                        () -> each.matmul(ones(each.size(-1))),
                        () -> each.clone(),
                        () -> each.data_ptr(),
                        () -> each.data_ptr_float(),
                        () -> each.argmax(),
                        () -> each.sort(),
                        () -> each.createIndexer(),
                        () -> TorchTensors.of(each.flatten())
                    }) {
                assertThatThrownBy(use)
                        .isInstanceOf(RuntimeException.class)
                        .hasMessageContaining("float32 x ")
                        .hasMessageContaining("is closed");
            }
            each.close();
        }
        assertThat(copy.sum().item_float()).isEqualTo(21);
    }

    /** Views of parameters and gradients of a unit, whose memory the next unit takes. */
    @Test
    void aViewOfAReleasedUnitIsNotRead() {
        TorchRanks.run(
                2,
                group -> {
                    try (org.jccl.Tensor first = org.jccl.Tensor.copyOf(new float[] {1, 1});
                            org.jccl.Tensor next = org.jccl.Tensor.copyOf(new float[] {2, 2});
                            ShardedParameters model =
                                    ShardedParameters.builder(group)
                                            .wholeUnits(1)
                                            .unit(
                                                    "a",
                                                    List.of(
                                                            new NamedTensor(
                                                                    "x", List.of(2L), first)))
                                            .unit(
                                                    "b",
                                                    List.of(
                                                            new NamedTensor(
                                                                    "y", List.of(2L), next)))
                                            .build()) {
                        ShardedUnit a = model.units().get(0);
                        ShardedUnit b = model.units().get(1);
                        a.gather();
                        Tensor x = TorchTensors.view(a.parameter("x"));
                        assertThat(x.sum().item_float()).isEqualTo(2);
                        a.release();
                        b.gather();
                        Tensor y = TorchTensors.view(b.parameter("y"));
                        assertThatThrownBy(() -> x.sum().item_float())
                                .hasMessageContaining("is closed");
                        assertThat(y.sum().item_float()).isEqualTo(4);
                        Tensor gradient = TorchTensors.view(b.gradient("y"));
                        gradient.zero_();
                        b.reduce();
                        assertThatThrownBy(gradient::sum).hasMessageContaining("is closed");
                        assertThatThrownBy(gradient::zero_).hasMessageContaining("is closed");
                        y.close();
                    }
                });
    }

    /** The owner is reachable as long as PyTorch has a tensor of the memory, and no longer. */
    @Test
    void aViewKeepsTheOwnerOfBorrowedMemory() throws InterruptedException {
        ByteBuffer memory = ByteBuffer.allocateDirect(40).order(ByteOrder.nativeOrder());
        WeakReference<Object> owner = new WeakReference<>(memory);
        Tensor part;
        try (Tensor view = TorchTensors.view(org.jccl.Tensor.of(memory, DataType.FLOAT32))) {
            memory = null;
            view.fill_(new Scalar(3.0f));
            part = view.narrow(0, 8, 2);
        }
        for (int i = 0; i < 20; i++) {
            System.gc();
            Thread.sleep(5);
        }
        assertThat(owner.get()).isNotNull();
        assertThat(part.sum().item_float()).isEqualTo(6);
        part.close();
        for (int i = 0; i < 400 && owner.get() != null; i++) {
            System.gc();
            Thread.sleep(5);
        }
        assertThat(owner.get()).isNull();
    }

    @Test
    void groupsTakeThem() {
        TorchRanks.run(
                2,
                group -> {
                    Tensor tensor = ones(3).mul(ones(1).add_(ones(1)));
                    group.allReduce(TorchTensors.of(tensor), ReduceOp.SUM).await();
                    assertThat(tensor.sum().item_float()).isEqualTo(12);
                });
    }

    @Test
    void streamsAreOfCudaOnly() {
        for (Device device : new Device[] {null, Device.CPU, new Device("npu", 0)}) {
            assertThatThrownBy(() -> TorchStreams.current(device))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("no CUDA stream for device " + device);
        }
    }
}
