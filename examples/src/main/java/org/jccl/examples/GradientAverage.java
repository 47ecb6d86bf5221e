package org.jccl.examples;

/** Replaces each layer's gradient by the average of all ranks' gradients. */
interface GradientAverage {

    /** With one rank there is nothing to do. */
    GradientAverage OF_ONE_RANK =
            new GradientAverage() {
                @Override
                public void start(Layer layer) {}

                @Override
                public void finish() {}
            };

    /** Begins with a layer, whose gradient is complete on this rank; must not block. */
    void start(Layer layer);

    /** Returns when the gradients of all layers that were started are averages. */
    void finish();
}
