package org.jccl.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.BatchNorm;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.BatchSampler;
import ai.djl.training.dataset.Sampler;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.Pair;
import ai.djl.util.PairList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.training.DistributedSampler;

/** One rank of a test: runs the cases that its arguments name, and prints what came of each. */
final class RankMain {

    private static final int SAMPLES = 96;
    private static final int FEATURES = 8;
    private static final int CLASSES = 4;

    /** Of all ranks together. */
    private static final int BATCH = 24;

    private static final int EPOCHS = 5;

    /** What a test tries; prints nothing where it holds. */
    private interface Case {
        void run(ProcessGroup world) throws Exception;
    }

    private static final Map<String, Case> CASES =
            Map.ofEntries(
                    Map.entry("fit", world -> sameAsAlone(world, RankMain::network)),
                    Map.entry("frozen", RankMain::frozen),
                    Map.entry("shared", world -> sameAsAlone(world, RankMain::shared)),
                    Map.entry("transposed", world -> sameAsAlone(world, Transposed::new)),
                    Map.entry("statistics", RankMain::statistics),
                    Map.entry("missing", RankMain::missing),
                    Map.entry("different-shapes", RankMain::differentShapes),
                    Map.entry("different-frozen", RankMain::differentFrozen),
                    Map.entry("changed", RankMain::changed),
                    Map.entry("unsupported-type", RankMain::unsupportedType),
                    Map.entry("sampler", RankMain::sampler));

    private RankMain() {}

    public static void main(String[] cases) throws Exception {
        try (ProcessGroup world = ProcessGroup.init("gloo")) {
            for (String name : cases) {
                try {
                    CASES.get(name).run(world);
                    System.out.println(name + ": fine");
                } catch (Exception | AssertionError e) {
                    System.out.println(name + ": " + e);
                    e.printStackTrace();
                }
            }
        }
    }

    private interface Blocks {
        Block make();
    }

    private static Block network() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(16).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(CLASSES).build());
    }

    /** Two layers that are one. */
    private static Block shared() {
        Block layer = Linear.builder().setUnits(FEATURES).build();
        return new SequentialBlock()
                .add(layer)
                .add(Activation::relu)
                .add(layer)
                .add(Linear.builder().setUnits(CLASSES).build());
    }

    private static DefaultTrainingConfig config() {
        return new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {Device.cpu()})
                .optOptimizer(
                        Optimizer.sgd()
                                .setLearningRateTracker(Tracker.fixed(0.1f))
                                .optMomentum(0.9f)
                                .build());
    }

    private static ArrayDataset data(NDManager manager, Sampler sampler) {
        float[] values = new float[SAMPLES * FEATURES];
        float[] labels = new float[SAMPLES];
        for (int i = 0; i < values.length; i++) {
            values[i] = (i * 7919 % 1009) / 504.5f - 1;
        }
        for (int i = 0; i < SAMPLES; i++) {
            labels[i] = values[i * FEATURES] > values[i * FEATURES + 1] ? 1 : 3;
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(values, new Shape(SAMPLES, FEATURES)))
                .optLabels(manager.create(labels))
                .setSampling(sampler)
                .build();
    }

    private static Model model(Block block) {
        Model model = Model.newInstance("test", Device.cpu());
        model.setBlock(block);
        return model;
    }

    /** The order of the samples that all ranks take together, on one rank. */
    private static Sampler alone() {
        int[] epoch = {0};
        return new BatchSampler(
                dataset -> {
                    int[] order =
                            new DistributedSampler(SAMPLES, 1, 0, true, 3, false)
                                    .indices(epoch[0]++);
                    return Arrays.stream(order).asLongStream().iterator();
                },
                BATCH);
    }

    private static Sampler together(ProcessGroup world) {
        return new ShardedSampler(world, BATCH / world.size(), sampler -> sampler.withSeed(3));
    }

    /** Ranks begin with other weights than rank 0, learn as one would, and have the same bits. */
    private static void sameAsAlone(ProcessGroup world, Blocks blocks) throws Exception {
        List<float[]> trained = train(world, blocks, block -> {});
        requireSameBits(world, trained);
        Engine.getInstance().setRandomSeed(100);
        try (Model model = model(blocks.make());
                Trainer trainer = model.newTrainer(config())) {
            trainer.initialize(new Shape(1, FEATURES));
            List<float[]> before = values(model);
            EasyTrain.fit(trainer, EPOCHS, data(trainer.getManager(), alone()), null);
            double moved = difference(before, values(model));
            double off = difference(trained, values(model));
            require(moved > 0.05, "parameters moved by " + moved + " only");
            require(off < 1e-5, "parameters are " + off + " from those of one rank");
        }
    }

    private static List<float[]> train(ProcessGroup world, Blocks blocks, Consumer<Block> prepare)
            throws Exception {
        Engine.getInstance().setRandomSeed(100 + world.rank());
        try (Model model = model(blocks.make());
                Trainer trainer = new DistributedTrainer(model, config(), world)) {
            trainer.initialize(new Shape(1, FEATURES));
            prepare.accept(model.getBlock());
            EasyTrain.fit(trainer, EPOCHS, data(trainer.getManager(), together(world)), null);
            return values(model);
        }
    }

    private static void frozen(ProcessGroup world) throws Exception {
        List<float[]> before = new ArrayList<>();
        List<float[]> after =
                train(
                        world,
                        RankMain::network,
                        block -> {
                            block.getParameters().get(0).getValue().freeze(true);
                            before.add(copy(block.getParameters().get(0).getValue()));
                        });
        require(Arrays.equals(before.get(0), after.get(0)), "a frozen parameter changed");
        requireSameBits(world, after);
    }

    /** Ranks see other samples, so their means differ. */
    private static void statistics(ProcessGroup world) throws Exception {
        List<float[]> after =
                train(
                        world,
                        () ->
                                new SequentialBlock()
                                        .add(Linear.builder().setUnits(16).build())
                                        .add(BatchNorm.builder().build())
                                        .add(Activation::relu)
                                        .add(Linear.builder().setUnits(CLASSES).build()),
                        block -> {});
        require(after.size() == 8, after.size() + " parameters");
        requireSameBits(world, after);
    }

    /** Rank 1 lacks what is used elsewhere; the next step is as if nothing had been. */
    private static void missing(ProcessGroup world) throws Exception {
        SometimesUnused block = new SometimesUnused();
        try (Model model = model(block);
                DistributedTrainer trainer = new DistributedTrainer(model, config(), world)) {
            trainer.initialize(new Shape(1, FEATURES));
            block.unused = world.rank() == 1;
            ArrayDataset data = data(trainer.getManager(), together(world));
            refused(() -> EasyTrain.fit(trainer, 1, data, null), "missing");
            block.unused = false;
            EasyTrain.fit(trainer, 1, data, null);
            requireSameBits(world, values(model));
        }
    }

    private static void differentShapes(ProcessGroup world) throws Exception {
        int units = world.rank() == 1 ? 12 : 16;
        Block block = new SequentialBlock().add(Linear.builder().setUnits(units).build());
        try (Model model = model(block);
                Trainer trainer = new DistributedTrainer(model, config(), world)) {
            refused(() -> trainer.initialize(new Shape(1, FEATURES)), "different-shapes");
        }
    }

    /** Also in the next step: ranks must not go on, each by itself. */
    private static void differentFrozen(ProcessGroup world) throws Exception {
        try (Model model = model(network());
                Trainer trainer = new DistributedTrainer(model, config(), world)) {
            trainer.initialize(new Shape(1, FEATURES));
            model.getBlock().getParameters().get(world.rank()).getValue().freeze(true);
            ArrayDataset data = data(trainer.getManager(), together(world));
            refused(() -> EasyTrain.fit(trainer, 1, data, null), "different-frozen");
            refused(() -> EasyTrain.fit(trainer, 1, data, null), "different-frozen");
        }
    }

    private static void changed(ProcessGroup world) {
        try (Model model = model(network());
                Trainer trainer = new DistributedTrainer(model, config(), world)) {
            refused(trainer::step, "changed");
            trainer.initialize(new Shape(1, FEATURES));
            model.setBlock(network());
            refused(trainer::step, "changed");
        }
    }

    private static void unsupportedType(ProcessGroup world) throws Exception {
        Block block =
                new Constant(
                        manager ->
                                manager.create(new long[] {1, 2}).toType(DataType.COMPLEX64, true));
        try (Model model = model(block);
                Trainer trainer = new DistributedTrainer(model, config(), world)) {
            refused(() -> trainer.initialize(new Shape(1, FEATURES)), "unsupported-type");
        }
    }

    private static void sampler(ProcessGroup world) throws Exception {
        try (NDManager manager = NDManager.newBaseManager()) {
            Sampler ours = together(world);
            ArrayDataset data = data(manager, ours);
            List<Long> seen = new ArrayList<>();
            ours.sample(data).forEachRemaining(seen::addAll);
            require(seen.size() == SAMPLES / world.size(), seen.size() + " samples");
            int size = world.rank() == 1 ? SAMPLES - 1 : SAMPLES;
            refused(
                    () ->
                            ours.sample(
                                    data.subDataset(
                                            IntStream.range(0, size)
                                                    .mapToObj(i -> (long) i)
                                                    .toList())),
                    "sampler");
        }
    }

    /** A block whose second half a rank may leave out. */
    private static final class SometimesUnused extends AbstractBlock {

        private final Block always =
                addChildBlock("always", Linear.builder().setUnits(CLASSES).build());
        private final Block sometimes =
                addChildBlock("sometimes", Linear.builder().setUnits(CLASSES).build());
        private boolean unused;

        @Override
        protected NDList forwardInternal(
                ParameterStore store,
                NDList inputs,
                boolean training,
                PairList<String, Object> parameters) {
            NDArray result = always.forward(store, inputs, training).singletonOrThrow();
            if (!unused) {
                result = result.add(sometimes.forward(store, inputs, training).singletonOrThrow());
            }
            return new NDList(result);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputs) {
            return always.getOutputShapes(inputs);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType type, Shape... inputs) {
            always.initialize(manager, type, inputs);
            sometimes.initialize(manager, type, inputs);
        }
    }

    /** A layer whose weight does not lie in memory in the order of its elements. */
    private static final class Transposed extends AbstractBlock {

        private final Parameter weight =
                addParameter(
                        Parameter.builder()
                                .setName("weight")
                                .setType(Parameter.Type.WEIGHT)
                                .optShape(new Shape(FEATURES, CLASSES))
                                .optInitializer(
                                        (manager, shape, type) ->
                                                manager.randomUniform(
                                                                -1, 1, new Shape(CLASSES, FEATURES))
                                                        .transpose())
                                .build());

        @Override
        protected NDList forwardInternal(
                ParameterStore store,
                NDList inputs,
                boolean training,
                PairList<String, Object> parameters) {
            NDArray input = inputs.singletonOrThrow();
            return new NDList(input.matMul(store.getValue(weight, input.getDevice(), training)));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputs) {
            return new Shape[] {new Shape(inputs[0].get(0), CLASSES)};
        }
    }

    /** A parameter of any kind. */
    private static final class Constant extends AbstractBlock {

        private final Function<NDManager, NDArray> value;

        Constant(Function<NDManager, NDArray> value) {
            this.value = value;
            addParameter(
                    Parameter.builder()
                            .setName("constant")
                            .setType(Parameter.Type.OTHER)
                            .optRequiresGrad(false)
                            .optShape(new Shape(2))
                            .optInitializer((manager, shape, type) -> this.value.apply(manager))
                            .build());
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store,
                NDList inputs,
                boolean training,
                PairList<String, Object> parameters) {
            return inputs;
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputs) {
            return inputs;
        }
    }

    private interface Action {
        void run() throws Exception;
    }

    /** Prints the refusal, which the test reads. */
    private static void refused(Action action, String name) {
        try {
            action.run();
        } catch (Exception e) {
            System.out.println(name + ": " + e.getClass().getSimpleName() + ": " + e.getMessage());
            return;
        }
        throw new AssertionError("was not refused");
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new AssertionError(message);
        }
    }

    private static List<float[]> values(Model model) {
        List<float[]> values = new ArrayList<>();
        for (Pair<String, Parameter> pair : model.getBlock().getParameters()) {
            values.add(copy(pair.getValue()));
        }
        return values;
    }

    private static float[] copy(Parameter parameter) {
        return parameter.getArray().toFloatArray();
    }

    private static double difference(List<float[]> ones, List<float[]> others) {
        double largest = 0;
        for (int i = 0; i < ones.size(); i++) {
            for (int j = 0; j < ones.get(i).length; j++) {
                largest = Math.max(largest, Math.abs(ones.get(i)[j] - others.get(i)[j]));
            }
        }
        return largest;
    }

    private static void requireSameBits(ProcessGroup world, List<float[]> values) {
        for (float[] array : values) {
            int[] bits = new int[array.length];
            for (int i = 0; i < bits.length; i++) {
                bits[i] = Float.floatToRawIntBits(array[i]);
            }
            try (Tensor largest = Tensor.copyOf(bits);
                    Tensor smallest = Tensor.copyOf(bits)) {
                world.sync().allReduce(largest, ReduceOp.MAX);
                world.sync().allReduce(smallest, ReduceOp.MIN);
                require(
                        Arrays.equals(largest.copyTo(bits.clone()), smallest.copyTo(bits.clone())),
                        "ranks have different bits");
            }
        }
    }
}
