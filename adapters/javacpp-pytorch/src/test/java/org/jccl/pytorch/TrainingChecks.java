package org.jccl.pytorch;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.training.GradientReducer;
import org.jccl.training.GradientReducerBuilder;
import org.jccl.training.MissingGradientException;

/** Training of a small network on a device. */
final class TrainingChecks extends DeviceChecks {

    private static final int STEPS = 12;
    private static final int BATCH = 24;

    /** Convolutions add in another order for a batch of another size. */
    private static final double TOLERANCE = 1e-4;

    TrainingChecks(ProcessGroup group, Device device) {
        super(group, device);
    }

    private SmallNet net(long seed) {
        SmallNet net = SmallNet.seeded(seed);
        net.to(torchDevice, false);
        return net;
    }

    private static Optimizer sgd(Module module) {
        SGDOptions options = new SGDOptions(0.1);
        options.momentum().put(0.9);
        return new SGD(module.parameters(), options);
    }

    private static Optimizer adam(Module module) {
        return new AdamW(module.parameters(), new AdamWOptions(1e-2));
    }

    private static float[] weights(Module module) {
        TensorVector parameters = module.parameters();
        TensorVector flat = new TensorVector();
        for (long i = 0; i < parameters.size(); i++) {
            flat.push_back(parameters.get(i).detach().view(-1));
        }
        return values(torch.cat(flat));
    }

    /** This rank's part of a batch, or the whole of it. */
    private Tensor[] batch(long step, boolean whole) {
        Tensor[] all = SmallNet.batch(step, BATCH);
        long size = whole ? BATCH : BATCH / group.size();
        long first = whole ? 0 : group.rank() * size;
        return new Tensor[] {
            onDevice(all[0].narrow(0, first, size)), onDevice(all[1].narrow(0, first, size))
        };
    }

    private float[] alone() {
        SmallNet net = net(1);
        Optimizer optimizer = sgd(net);
        for (int step = 0; step < STEPS; step++) {
            optimizer.zero_grad();
            net.loss(batch(step, true)).backward();
            optimizer.step();
        }
        return weights(net);
    }

    private float[] together(Consumer<GradientReducerBuilder> options) {
        SmallNet net = net(group.rank() == 0 ? 1 : 99); // ranks still begin with rank 0's
        Optimizer optimizer = sgd(net);
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net, options)) {
            for (int step = 0; step < STEPS; step++) {
                PointerScope memoryOfThisStep = new PointerScope();
                optimizer.zero_grad(step % 3 != 0);
                if (step % 2 == 0) {
                    ddp.backward(net.loss(batch(step, false)));
                } else {
                    net.loss(batch(step, false)).backward();
                    ddp.finish();
                }
                optimizer.step();
                memoryOfThisStep.close();
            }
        }
        return weights(net);
    }

    String ranksLearnWhatOneLearns(boolean otherStream) throws Exception {
        return otherStream
                ? onAnotherStream(this::ranksLearnWhatOneLearns)
                : ranksLearnWhatOneLearns();
    }

    private String ranksLearnWhatOneLearns() {
        float[] alone = alone();
        require(difference(alone, weights(net(1))) > 0.1, "nothing was learned");
        float[] large = together(options -> {});
        requireSameBits(large);
        float[] small = together(options -> options.firstBucketBytes(1).bucketBytes(1));
        requireSameBits(small);
        return "differs from one rank by %s with large buckets, by %s with small ones"
                .formatted(
                        requireClose(large, alone, TOLERANCE),
                        requireClose(small, alone, TOLERANCE));
    }

    /** Two passes without sending, and one with it, are a batch of three times the size. */
    String accumulates() {
        SmallNet net = net(1);
        SmallNet expected = net(1);
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
            for (int pass = 0; pass < 3; pass++) {
                Tensor[] batch = batch(pass, false);
                if (pass < 2) {
                    try (GradientReducer.NoSync scope = ddp.noSync()) {
                        ddp.backward(net.loss(batch));
                        require(scope != null, "no scope");
                    }
                } else {
                    ddp.backward(net.loss(batch));
                }
                expected.loss(batch(pass, true)).backward();
            }
        }
        float[] found = values(net.hidden.weight().grad());
        requireSameBits(found);
        float[] wanted = values(expected.hidden.weight().grad());
        return "differs by " + requireClose(found, wanted, TOLERANCE);
    }

    String anOverflowSkipsTheStep() {
        SmallNet net = net(1);
        Optimizer optimizer = sgd(net);
        GradientScaler scaler = GradientScaler.of(group, 1024, 2000);
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
            for (int step = 0; step < 6; step++) {
                optimizer.zero_grad();
                ddp.backward(scaler.scale(net.loss(batch(step, false))));
                if (step == 3 && group.rank() == group.size() - 1) {
                    net.hidden.bias().grad().narrow(0, 0, 1).fill_(new Scalar(1 / 0f));
                }
                float[] before = weights(net);
                boolean made = scaler.step(optimizer);
                require(made == (step != 3), "step %d was made: %s", step, made);
                boolean same = difference(before, weights(net)) == 0;
                require(same == (step == 3), "step %d left the weights as they were", step);
            }
        }
        require(scaler.scale() == 512, "the scale is %s", scaler.scale());
        requireSameBits(weights(net));
        return "scale " + scaler.scale();
    }

    String autocast() {
        StringBuilder found = new StringBuilder();
        for (ScalarType type : List.of(ScalarType.BFloat16, ScalarType.Half)) {
            SmallNet net = net(1);
            Optimizer optimizer = sgd(net);
            GradientScaler scaler = GradientScaler.of(group);
            Tensor x = batch(0, false)[0];
            float first = 0;
            float last = 0;
            try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                for (int step = 0; step < 30; step++) {
                    optimizer.zero_grad();
                    Tensor loss;
                    try (Autocast scope = Autocast.of(torchDevice.type(), type)) {
                        require(scope != null, "no scope");
                        ScalarType inside = net.logits(x, false).scalar_type().intern();
                        require(inside == type, "an operation in autocast is of type %s", inside);
                        loss = net.loss(batch(0, false));
                    }
                    ddp.backward(scaler.scale(loss));
                    ScalarType gradient = net.hidden.weight().grad().scalar_type().intern();
                    require(gradient == ScalarType.Float, "a gradient of type %s", gradient);
                    scaler.step(optimizer);
                    last = loss.to(ScalarType.Float).item_float();
                    first = step == 0 ? last : first;
                }
            }
            requireSameBits(weights(net));
            require(last < 0.8 * first, "%s: the loss went from %s to %s", type, first, last);
            found.append("%s: loss %.3f to %.3f. ".formatted(type, first, last));
        }
        return found.toString();
    }

    private void train(Module module, SmallNet net, Optimizer optimizer, int from, int to) {
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, module)) {
            for (int step = from; step < to; step++) {
                optimizer.zero_grad();
                ddp.backward(net.loss(batch(step, false)));
                optimizer.step();
            }
        }
    }

    /** A check with a directory that all ranks name alike. It is deleted if the check passes. */
    private String withDirectory(Function<Path, String> check) {
        double number = largest(group, group.rank() == 0 ? System.nanoTime() % 1_000_000_000 : 0);
        String name = "jccl-check-" + (long) number;
        Path directory = Path.of(System.getProperty("java.io.tmpdir"), name);
        String found = check.apply(directory);
        group.sync().barrier();
        if (group.rank() == 0) {
            delete(directory);
        }
        return found;
    }

    private static void delete(Path directory) {
        try (Stream<Path> files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String checkpoint() {
        return withDirectory(this::checkpoint);
    }

    private String checkpoint(Path directory) {
        SmallNet net = net(1);
        Optimizer optimizer = adam(net);
        train(net, net, optimizer, 0, 5);
        float[] saved = weights(net);
        TorchCheckpoint.of(group, net, optimizer).save(directory, Map.of("step", "5"));
        train(net, net, optimizer, 5, 8);

        SmallNet again = net(77);
        Optimizer other = adam(again);
        Map<String, String> texts = TorchCheckpoint.of(group, again, other).load(directory);
        require("5".equals(texts.get("step")), "texts %s", texts);
        require(again.hidden.weight().device().equals(torchDevice), "it moved");
        require(difference(saved, weights(again)) == 0, "the loaded weights are others");
        train(again, again, other, 5, 8);
        float difference = requireClose(weights(again), weights(net), 1e-6);
        return "the same bits; after three more steps they differ by " + difference;
    }

    /** The stream has not computed the weights yet when they are saved. */
    String checkpointOnAnotherStream() throws Exception {
        return onAnotherStream(() -> withDirectory(this::checkpointOfBusyStream));
    }

    private String checkpointOfBusyStream(Path directory) {
        LinearImpl net = new LinearImpl(8, 8);
        net.to(torchDevice, false);
        net.bias().detach().fill_(new Scalar(0f)); // the same on all ranks
        Tensor weight = net.weight().detach();
        weight.fill_(new Scalar(-1f));
        requireFilled("weights", weight, -1);
        TorchCheckpoint state = TorchCheckpoint.of(group, net, sgd(net));
        weight.copy_(slowly(3).narrow(0, 0, 8).narrow(1, 0, 8));
        boolean busy = isBusy();
        state.save(directory, Map.of());
        weight.copy_(slowly(4).narrow(0, 0, 8).narrow(1, 0, 8));
        busy &= isBusy();
        state.load(directory);
        requireFilled("loaded weights", weight, 3);
        return "the stream was " + (busy ? "busy" : "idle");
    }

    String failures() {
        SmallNet net = net(1);
        String twice;
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
            ddp.backward(net.loss(batch(0, false)));
            net.loss(batch(1, false)).backward();
            twice = failure(UsageException.class, () -> ddp.backward(net.loss(batch(2, false))));
            require(twice.contains("twice"), twice);
        }
        SmallNet other = net(2);
        Map<String, Tensor> used = new LinkedHashMap<>(ModelTensors.of(other));
        used.put("unused", filled(1, 3).set_requires_grad(true));
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, used, options -> {})) {
            String missing =
                    failure(
                            MissingGradientException.class,
                            () -> ddp.backward(other.loss(batch(0, false))));
            require(missing.contains("unused"), missing);
        }
        return twice;
    }

    String refusals() {
        if (device.isCpu()) {
            return "nothing on the CPU";
        }
        SmallNet net = net(1);
        String fsdp =
                failure(
                        UsageException.class,
                        () -> FullyShardedDataParallel.of(group, net, "").close());
        Tensor x = filled(1, 4, 10);
        String norm =
                failure(UsageException.class, () -> SyncBatchNorm.of(group, net.norm).forward(x));
        require(fsdp.contains("not on the CPU") && norm.contains("on the CPU"), fsdp + norm);
        return fsdp + "; " + norm;
    }
}
