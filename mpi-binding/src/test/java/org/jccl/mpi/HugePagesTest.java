package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Memory of large tensors, in one process and without an MPI library. */
class HugePagesTest {

    private static final Path MAPPINGS = Path.of("/proc/self/smaps");
    private static final int MEGABYTE = 1 << 20;

    @Test
    void largeTensorsAskForHugePages() throws IOException {
        Assumptions.assumeTrue(
                Files.exists(Path.of("/sys/kernel/mm/transparent_hugepage/enabled")),
                "this kernel has no transparent huge pages");
        try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.INT8, 3 * MEGABYTE + 1)) {
            assertThat(tensor.address() % (2 * MEGABYTE)).isZero();
            assertThat(flagsOf(tensor.address())).contains(" hg");
            byte[] content = new byte[3 * MEGABYTE + 1];
            tensor.copyTo(content);
            assertThat(content).containsOnly(0);
        }
    }

    @Test
    void manyCanBeAllocatedAndFreed() {
        for (int i = 0; i < 200_000; i++) {
            // More than a process can map at once, and more than its address space holds.
            Tensor.allocate(Device.CPU, DataType.INT8, 1L << 30).close();
        }
    }

    /** What the kernel notes of the mapping that an address is in. */
    private static String flagsOf(long address) throws IOException {
        boolean inside = false;
        for (String line : Files.readAllLines(MAPPINGS)) {
            if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                String[] range = line.substring(0, line.indexOf(' ')).split("-");
                inside =
                        Long.compareUnsigned(address, Long.parseUnsignedLong(range[0], 16)) >= 0
                                && Long.compareUnsigned(
                                                address, Long.parseUnsignedLong(range[1], 16))
                                        < 0;
            } else if (inside && line.startsWith("VmFlags:")) {
                return line;
            }
        }
        throw new AssertionError("no mapping has " + Long.toHexString(address));
    }
}
