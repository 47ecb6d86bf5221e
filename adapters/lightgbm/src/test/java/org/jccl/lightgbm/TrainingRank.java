package org.jccl.lightgbm;

import com.microsoft.ml.lightgbm.lightgbmlib;
import io.github.metarank.lightgbm4j.LGBMBooster;
import io.github.metarank.lightgbm4j.LGBMDataset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.jccl.ProcessGroup;

/** A process that trains with a part of the rows, and writes its model. */
final class TrainingRank {

    static final int COLUMNS = 8;
    private static final int ROWS = 2000;
    private static final int ROUNDS = 30;

    private TrainingRank() {}

    /**
     * Runs a rank.
     *
     * @param args the file for the model; LightGBM's list of machines and the port of this one, for
     *     its own network, or {@code jccl} and the round in which this rank ends itself, or -1
     */
    @SuppressWarnings("try") // the network is used by LightGBM
    public static void main(String[] args) throws Exception {
        LGBMBooster.loadNative();
        int rank = Integer.parseInt(System.getenv("RANK"));
        int size = Integer.parseInt(System.getenv("WORLD_SIZE"));
        Path file = Path.of(args[0]);
        int number = Integer.parseInt(args[2]);
        if (args[1].equals("jccl")) {
            try (ProcessGroup group = ProcessGroup.init("gloo");
                    LightGbmNetwork network = LightGbmNetwork.of(group)) {
                Files.writeString(file, train(rank, size, number));
            }
        } else {
            if (lightgbmlib.LGBM_NetworkInit(args[1], number, 2, size) != 0) {
                throw new IllegalStateException(lightgbmlib.LGBM_GetLastError());
            }
            Files.writeString(file, train(rank, size, -1));
            lightgbmlib.LGBM_NetworkFree();
        }
    }

    private static String train(int rank, int size, int end) throws Exception {
        double[] rows = rows(rank, ROWS);
        float[] labels = new float[ROWS];
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < COLUMNS; j++) {
                labels[i] += (float) ((j + 1) * Math.sin(3 * rows[i * COLUMNS + j]));
            }
        }
        String parameters =
                "objective=regression num_leaves=15 num_threads=1 verbosity=-1 tree_learner=data"
                        + " pre_partition=true num_machines="
                        + size;
        try (LGBMDataset data =
                LGBMDataset.createFromMat(rows, ROWS, COLUMNS, true, parameters, null)) {
            data.setField("label", labels);
            try (LGBMBooster booster = LGBMBooster.create(data, parameters)) {
                for (int round = 0; round < ROUNDS; round++) {
                    if (round == end) {
                        Runtime.getRuntime().halt(9);
                    }
                    booster.updateOneIter();
                }
                return booster.saveModelToString(0, 0, LGBMBooster.FeatureImportanceType.SPLIT);
            }
        }
    }

    static double[] rows(int seed, int count) {
        return new SplittableRandom(seed).doubles((long) count * COLUMNS).toArray();
    }
}
