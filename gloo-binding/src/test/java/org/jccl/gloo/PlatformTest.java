package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.jccl.Availability;
import org.jccl.spi.support.NativeLibraries;
import org.jccl.testing.JarOfAnotherPlatform;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the jar has for each platform, and what is said where it has nothing. */
@ResourceLock(Resources.SYSTEM_PROPERTIES)
class PlatformTest {

    /** Where an ELF file has the kind of its processor, and the numbers of ours. */
    private static final int MACHINE = 18;

    private static final Map<String, Short> MACHINES =
            Map.of("linux-x86_64", (short) 62, "linux-arm64", (short) 183);

    @Test
    void aJarOfAnotherPlatformSaysWhichToTake() throws Exception {
        Availability availability = JarOfAnotherPlatform.availabilityOf(GlooProvider.class);
        assertThat(availability).isInstanceOf(Availability.Unavailable.class);
        assertThat(availability.toString())
                .contains("for " + NativeLibraries.platform())
                .contains("the artifact org.jccl:jccl-gloo without a classifier")
                .contains("the classifier " + NativeLibraries.platform());
    }

    /** Asks a second copy of the class: this process may have loaded the libraries already. */
    @Test
    void anotherProcessorIsNamed() throws Exception {
        String own = System.setProperty("os.arch", "riscv64");
        try {
            assertThat(JarOfAnotherPlatform.availabilityOf(GlooProvider.class).toString())
                    .contains("Linux on x86_64 and aarch64, this is linux-riscv64");
        } finally {
            System.setProperty("os.arch", own);
        }
    }

    /** Those of the building machine are easily taken for those of the one that is built for. */
    @ParameterizedTest
    @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
    void librariesAreOfTheirFoldersPlatform(String platform) throws Exception {
        var folder = GlooProvider.class.getResource(platform);
        Assumptions.assumeTrue(folder != null, "this build is not for " + platform);
        try (Stream<Path> files = Files.list(Path.of(folder.toURI()))) {
            assertThat(files.toList())
                    .hasSize(1)
                    .allSatisfy(
                            file -> assertThat(machine(file)).isEqualTo(MACHINES.get(platform)));
        }
    }

    private static short machine(Path file) throws IOException {
        ByteBuffer elf = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        return elf.getShort(MACHINE);
    }
}
