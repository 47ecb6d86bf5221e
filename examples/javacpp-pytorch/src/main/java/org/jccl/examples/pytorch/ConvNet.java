package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.avg_pool2d;
import static org.bytedeco.pytorch.global.torch.tanh;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Two convolutions and a layer. All functions are smooth: a maximum would choose another pixel
 * after a rounding difference, and the weights of ranks could not be compared with those of one
 * process.
 */
final class ConvNet extends Module {

    private static final int FIRST = 16;
    private static final int SECOND = 32;
    private static final int HALF = Digits.SIDE / 2;

    private final Conv2dImpl first = register_module("first", convolution(1, FIRST));
    private final Conv2dImpl second = register_module("second", convolution(FIRST, SECOND));
    private final LinearImpl output =
            register_module("output", new LinearImpl(SECOND * HALF * HALF, Digits.CLASSES));

    private static Conv2dImpl convolution(long from, long to) {
        Conv2dOptions options = new Conv2dOptions(from, to, new LongPointer(3, 3));
        options.padding().put(new LongPointer(1, 1));
        return new Conv2dImpl(options);
    }

    Tensor forward(Tensor images) {
        Tensor features = tanh(second.forward(tanh(first.forward(images))));
        return output.forward(avg_pool2d(features, 2).flatten(1, -1));
    }

    /** Share of the images whose digit is found. */
    double accuracy(Digits digits) {
        NoGradGuard guard = new NoGradGuard();
        try {
            Tensor found = forward(digits.images()).argmax(new LongOptional(1), false);
            return found.eq(digits.labels()).sum().item_long() / (double) digits.size();
        } finally {
            guard.close();
        }
    }
}
