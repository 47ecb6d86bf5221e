package org.jccl.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;

/**
 * Memory of one call: tensors one behind the other with elements before, between and behind them,
 * of which none may change. An image of all of it says what must be there in the end.
 */
final class Block implements AutoCloseable {

    private static final byte UNTOUCHED = 0x5b;
    private static final int EDGE = 16;

    private final DataType type;
    private final Tensor whole;
    private final byte[] image;
    private final List<Tensor> parts = new ArrayList<>();
    private final int[] offsets;

    /**
     * Allocates tensors.
     *
     * @param gap elements between two tensors; with 0 they lie in one piece
     */
    Block(Device device, DataType type, int gap, long... counts) {
        this.type = type;
        this.offsets = new int[counts.length];
        int end = EDGE;
        for (int i = 0; i < counts.length; i++) {
            offsets[i] = end;
            end += Math.toIntExact(counts[i]) + gap;
        }
        whole = Tensor.allocate(device, type, end + EDGE);
        image = new byte[Math.toIntExact(whole.byteSize())];
        Arrays.fill(image, UNTOUCHED);
        for (int i = 0; i < counts.length; i++) {
            parts.add(whole.slice(offsets[i], counts[i]));
        }
    }

    Tensor part(int index) {
        return parts.get(index);
    }

    List<Tensor> parts() {
        return parts;
    }

    /** Says what is in a tensor: before {@link #write} at first, after it in the end. */
    Block set(int index, byte[] elements) {
        if (elements.length != parts.get(index).byteSize()) {
            throw new IllegalArgumentException("the elements are not those of the tensor");
        }
        System.arraycopy(elements, 0, image, offsets[index] * type.size(), elements.length);
        return this;
    }

    /** Writes to the memory what was said. */
    Block write() {
        bytes().copyFrom(image);
        return this;
    }

    int elements() {
        return image.length / type.size();
    }

    /** The first difference between the memory and what was said. */
    Optional<String> difference() {
        byte[] found = bytes().copyTo(new byte[image.length]);
        int at = Arrays.mismatch(found, image);
        if (at < 0) {
            return Optional.empty();
        }
        int element = at / type.size();
        int part = 0;
        while (part + 1 < offsets.length && offsets[part + 1] <= element) {
            part++;
        }
        int wrong = 0;
        for (int i = 0; i < image.length; i++) {
            wrong += found[i] == image[i] ? 0 : 1;
        }
        return Optional.of(
                String.format(
                        "%s, tensor %d of %d (%s), element %d is %s instead of %s, %d bytes wrong",
                        type,
                        part,
                        offsets.length,
                        parts.get(part),
                        element - offsets[part],
                        hex(found, element),
                        hex(image, element),
                        wrong));
    }

    private String hex(byte[] from, int element) {
        StringBuilder text = new StringBuilder("0x");
        for (int i = type.size() - 1; i >= 0; i--) {
            text.append(String.format("%02x", from[element * type.size() + i]));
        }
        return text.toString();
    }

    private Tensor bytes() {
        return Tensor.of(whole.address(), whole.byteSize(), DataType.UINT8, whole.device(), whole);
    }

    @Override
    public void close() {
        whole.close();
    }
}
