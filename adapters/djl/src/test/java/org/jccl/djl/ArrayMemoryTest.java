package org.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ArrayMemoryTest {

    private static final FailureContext RANK = FailureContext.ofGroup("world", 1);

    private final NDManager manager = NDManager.newBaseManager(Device.cpu());

    @AfterEach
    void close() {
        manager.close();
    }

    private ArrayMemory of(NDArray array) {
        return ArrayMemory.of(manager, RANK, "weight", array);
    }

    private Optional<ArrayMemory> gradient(NDArray parameter) {
        return ArrayMemory.ofGradient(manager, RANK, "weight", parameter);
    }

    @Test
    void elementsInOnePieceAreTheTensor() {
        NDArray array = manager.create(new float[] {1, 2, 3, 4}, new Shape(2, 2));
        ArrayMemory memory = of(array);
        memory.tensor().copyFrom(new float[] {5, 6, 7, 8});
        assertThat(array.toFloatArray()).containsExactly(5, 6, 7, 8);
        memory.writeBack();
        assertThat(array.toFloatArray()).containsExactly(5, 6, 7, 8);
        assertThat(of(manager.create(3f)).tensor().copyTo(new float[1])).containsExactly(3);
        assertThat(of(manager.create(new Shape(0))).tensor().count()).isZero();
    }

    @Test
    void othersAreCopiedInTheirOrderAndBack() {
        NDArray array = manager.create(new float[] {1, 2, 3, 4, 5, 6}, new Shape(2, 3));
        ArrayMemory memory = of(array.transpose());
        assertThat(memory.tensor().copyTo(new float[6])).containsExactly(1, 4, 2, 5, 3, 6);
        memory.tensor().copyFrom(new float[] {1, 2, 3, 4, 5, Float.NaN});
        assertThat(array.toFloatArray()).containsExactly(1, 2, 3, 4, 5, 6);
        memory.writeBack();
        assertThat(array.toFloatArray()).containsExactly(1, 3, 5, 2, 4, Float.NaN);
        of(array.transpose()).writeBack();
        assertThat(array.toFloatArray()).containsExactly(1, 3, 5, 2, 4, Float.NaN);
    }

    @Test
    void typesAreThoseOfGroups() {
        for (DataType type :
                List.of(
                        DataType.FLOAT32,
                        DataType.FLOAT64,
                        DataType.FLOAT16,
                        DataType.INT8,
                        DataType.UINT8,
                        DataType.INT32,
                        DataType.INT64,
                        DataType.BOOLEAN)) {
            ArrayMemory memory = of(manager.ones(new Shape(3)).toType(type, true));
            assertThat(memory.tensor().byteSize()).isEqualTo(3L * type.getNumOfBytes());
        }
    }

    @Test
    void whatHasNoAddressIsRefused() {
        refused(
                manager.ones(new Shape(2)).toType(DataType.COMPLEX64, true),
                "group 'world', rank 1: weight is of complex64");
        refused(manager.create(new Shape(1 << 29)), "2147483648 bytes");
        refused(
                manager.createCoo(
                        FloatBuffer.wrap(new float[] {1, 2}),
                        new long[][] {{0, 1}, {1, 0}},
                        new Shape(2, 2)),
                "weight is sparse");
    }

    private void refused(NDArray array, String words) {
        assertThatThrownBy(() -> of(array))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(words);
    }

    @Test
    void aGradientIsThereAfterItWasMade() {
        NDArray parameter = manager.create(new float[] {1, 2, 3});
        parameter.setRequiresGradient(true);
        assertThat(gradient(parameter)).isEmpty();
        backward(parameter);
        ArrayMemory memory = gradient(parameter).orElseThrow();
        assertThat(memory.tensor().copyTo(new float[3])).containsExactly(2, 4, 6);
        memory.tensor().copyFrom(new float[3]);
        assertThat(parameter.getGradient().toFloatArray()).containsExactly(0, 0, 0);
        assertThat(gradient(parameter)).isPresent();
    }

    /** Its elements do not lie in order, as its parameter's do not. */
    @Test
    void aGradientThatIsCopiedIsThereAlsoWhereItIsZero() {
        NDArray parameter =
                manager.create(new float[] {1, 2, 3, 4, 5, 6}, new Shape(2, 3)).transpose();
        parameter.setRequiresGradient(true);
        assertThat(gradient(parameter)).isEmpty();
        backward(parameter);
        ArrayMemory memory = gradient(parameter).orElseThrow();
        assertThat(memory.tensor().copyTo(new float[6])).containsExactly(2, 8, 4, 10, 6, 12);
        memory.tensor().copyFrom(new float[6]);
        memory.writeBack();
        assertThat(parameter.getGradient().toFloatArray()).containsOnly(0);
        assertThat(gradient(parameter)).isPresent();
        assertThat(parameter.getGradient().toFloatArray()).containsOnly(0);
    }

    private static void backward(NDArray parameter) {
        try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
            collector.backward(parameter.square().sum());
        }
    }
}
