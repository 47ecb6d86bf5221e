package org.jccl.examples.dl4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.jccl.Tensor;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

class Nd4jTensorsTest {

    @Test
    void sharesTheMemoryAlsoOfPartsInOnePiece() {
        INDArray array = Nd4j.create(new float[] {1, 2, 3, 4, 5, 6}, new int[] {3, 2});
        INDArray row = array.getRow(1);
        Tensor tensor = Nd4jTensors.of(row);
        assertThat(tensor.copyTo(new float[2])).containsExactly(3, 4);
        tensor.copyFrom(new float[] {7, 8});
        assertThat(array.toFloatMatrix()[1]).containsExactly(7, 8);
        assertThat(Nd4jTensors.of(Nd4j.createFromArray(1L, 2L)).copyTo(new long[2]))
                .containsExactly(1, 2);
    }

    @Test
    void whatIsScatteredOrOfAnotherTypeIsRefused() {
        INDArray array = Nd4j.create(new float[] {1, 2, 3, 4, 5, 6}, new int[] {3, 2});
        INDArray column = array.get(NDArrayIndex.all(), NDArrayIndex.point(1));
        assertThatThrownBy(() -> Nd4jTensors.of(column))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("one piece");
        assertThatThrownBy(() -> Nd4jTensors.of(array.castTo(DataType.UINT16)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("UINT16");
    }
}
