package org.jccl.conformance;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jccl.Tensor;

/**
 * The tensors that a rank of a test has made. They are closed when the test is done, because a
 * device has less memory than all tests together take.
 */
public final class RankTensors implements AutoCloseable {

    private final Queue<Tensor> all = new ConcurrentLinkedQueue<>();

    /** Creates an empty collection. */
    public RankTensors() {}

    Tensor add(Tensor tensor) {
        all.add(tensor);
        return tensor;
    }

    @Override
    public void close() {
        all.forEach(Tensor::close);
    }
}
