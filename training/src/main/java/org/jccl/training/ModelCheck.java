package org.jccl.training;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;

/** Compares the registrations of all ranks before the first reduction. */
final class ModelCheck {

    private ModelCheck() {}

    /**
     * Checks that all ranks pass the same lines. Ranks that differ would silently reduce unrelated
     * tensors; a library that compares sizes would fail later.
     *
     * @param lines this rank's lines; the message names the first that differs
     * @param advice the instruction at the end of the message
     * @throws DifferentModelsException on all ranks, with the same message
     */
    static void requireSame(ProcessGroup group, Device device, List<String> lines, String advice) {
        String text = String.join("\n", lines);
        int[] digests = gather(group, device, digest(text));
        int length = digests.length / group.size();
        int[] first = Arrays.copyOf(digests, length);
        for (int rank = 1; rank < group.size(); rank++) {
            if (!Arrays.equals(
                    first, Arrays.copyOfRange(digests, rank * length, (rank + 1) * length))) {
                String[] here = lines(broadcast(group, device, text, 0));
                String[] there = lines(broadcast(group, device, text, rank));
                throw new DifferentModelsException(
                        FailureContext.ofGroup(group.name(), group.rank()),
                        difference(here, there, rank) + "; " + advice);
            }
        }
    }

    private static String[] lines(String text) {
        return text.isEmpty() ? new String[0] : text.split("\n", -1);
    }

    private static String difference(String[] ofRank0, String[] others, int rank) {
        int at = Arrays.mismatch(ofRank0, others);
        return "rank 0 has "
                + (at < ofRank0.length ? ofRank0[at] : "nothing there")
                + ", rank "
                + rank
                + " has "
                + (at < others.length ? others[at] : "nothing there");
    }

    private static int[] digest(String text) {
        try {
            byte[] digest =
                    MessageDigest.getInstance("SHA-256")
                            .digest(text.getBytes(StandardCharsets.UTF_8));
            int[] words = new int[digest.length / Integer.BYTES];
            ByteBuffer.wrap(digest).asIntBuffer().get(words);
            return words;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java runtime has SHA-256", e);
        }
    }

    /** Gathers the same number of words from each rank. */
    static int[] gather(ProcessGroup group, Device device, int[] words) {
        int[] all = new int[words.length * group.size()];
        try (Tensor input = tensor(device, words);
                Tensor output = tensor(device, all)) {
            group.allGatherSingle(output, input).synchronize();
            return output.copyTo(all);
        }
    }

    static String broadcast(ProcessGroup group, Device device, String text, int root) {
        byte[] mine = text.getBytes(StandardCharsets.UTF_8);
        int length = broadcast(group, device, new int[] {mine.length}, root)[0];
        int[] words = new int[(length + Integer.BYTES - 1) / Integer.BYTES];
        ByteBuffer bytes = ByteBuffer.allocate(words.length * Integer.BYTES);
        if (group.rank() == root) {
            bytes.put(mine).rewind();
            bytes.asIntBuffer().get(words);
        }
        words = broadcast(group, device, words, root);
        bytes.asIntBuffer().put(words);
        return new String(bytes.array(), 0, length, StandardCharsets.UTF_8);
    }

    /** Returns the root's words. */
    static int[] broadcast(ProcessGroup group, Device device, int[] words, int root) {
        try (Tensor tensor = tensor(device, words)) {
            group.broadcast(tensor, root).synchronize();
            return tensor.copyTo(words);
        }
    }

    private static Tensor tensor(Device device, int[] words) {
        return Tensor.allocate(device, DataType.INT32, words.length).copyFrom(words);
    }
}
