package org.jccl.internal.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import org.junit.jupiter.api.Test;

/** Runs on whatever Java runs the tests. */
class HostMemoryTest {

    private final HostMemory memory = HostMemory.get();

    @Test
    void allocatesZeroedAlignedMemory() {
        for (long bytes : new long[] {1, 63, 64, 100_001}) {
            HostMemory.Allocation allocation = memory.allocate(bytes);
            byte[] content = new byte[(int) bytes];
            memory.copyToArray(allocation.address(), content, 0, bytes);
            assertThat(content).containsOnly(0);
            assertThat(allocation.address() % 64).isZero();
            allocation.release().run();
        }
    }

    @Test
    void copiesArraysOfEveryType() {
        HostMemory.Allocation allocation = memory.allocate(64);
        long address = allocation.address();
        memory.copyFromArray(new double[] {1.5, -2}, 0, address, 16);
        double[] doubles = new double[2];
        memory.copyToArray(address, doubles, 0, 16);
        assertThat(doubles).containsExactly(1.5, -2);

        memory.copyFromArray(new long[] {7, 8, 9}, 8, address, 16);
        long[] longs = new long[3];
        memory.copyToArray(address, longs, 8, 16);
        assertThat(longs).containsExactly(0, 8, 9);

        memory.copyFromArray(new float[] {3}, 0, address, 4);
        float[] floats = new float[1];
        memory.copyToArray(address, floats, 0, 4);
        assertThat(floats).containsExactly(3);

        memory.copyFromArray(new int[] {-4}, 0, address, 4);
        int[] ints = new int[1];
        memory.copyToArray(address, ints, 0, 4);
        assertThat(ints).containsExactly(-4);

        memory.copyFromArray(new short[] {5, 6}, 0, address, 4);
        short[] shorts = new short[2];
        memory.copyToArray(address, shorts, 0, 4);
        assertThat(shorts).containsExactly((short) 5, (short) 6);
        allocation.release().run();
    }

    @Test
    void copiesOverlappingRanges() {
        HostMemory.Allocation allocation = memory.allocate(8);
        memory.copyFromArray(new byte[] {1, 2, 3, 4, 5, 6, 7, 8}, 0, allocation.address(), 8);
        memory.copy(allocation.address(), allocation.address() + 2, 6);
        byte[] content = new byte[8];
        memory.copyToArray(allocation.address(), content, 0, 8);
        assertThat(content).containsExactly(1, 2, 1, 2, 3, 4, 5, 6);
        allocation.release().run();
    }

    @Test
    void findsTheFirstRemainingElementOfABuffer() {
        ByteBuffer bytes = ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder());
        long base = memory.address(bytes);
        assertThat(memory.address(bytes.position(5))).isEqualTo(base + 5);
        bytes.position(8);
        FloatBuffer floats = bytes.asFloatBuffer();
        assertThat(memory.address(floats)).isEqualTo(base + 8);
        assertThat(memory.address(floats.position(3))).isEqualTo(base + 20);
        assertThat(memory.address(bytes.position(0).asDoubleBuffer().position(2)))
                .isEqualTo(base + 16);
        assertThat(memory.address(bytes.asShortBuffer().position(2))).isEqualTo(base + 4);

        floats.put(0, 2.5f);
        float[] read = new float[1];
        memory.copyToArray(base + 8, read, 0, 4);
        assertThat(read).containsExactly(2.5f);
    }
}
