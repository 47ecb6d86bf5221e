package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.spi.support.NativeStatus;
import org.jccl.testing.NativeWords;
import org.junit.jupiter.api.Test;

/**
 * Java's enums cross JNI as their ordinals. Native code knows them by the lists in one header, so
 * an entry that only one side gains, loses or moves must not pass.
 */
class NativeVocabularyTest {

    private static final NativeWords HEADER = NativeWords.of("common/jccl.h");

    @Test
    void dataTypes() {
        assertThat(HEADER.ofEnum("DataType")).isEqualTo(names(DataType.values()));
    }

    @Test
    void sizesOfElements() {
        assertThat(HEADER.ofArray("kElementSizes"))
                .isEqualTo(Stream.of(DataType.values()).map(DataType::size).toList());
    }

    @Test
    void reduceOps() {
        assertThat(HEADER.ofEnum("ReduceKind")).isEqualTo(names(ReduceOp.Kind.values()));
    }

    @Test
    void operations() {
        assertThat(HEADER.ofEnum("OperationKind")).isEqualTo(names(OperationKind.values()));
    }

    @Test
    void statuses() {
        assertThat(HEADER.ofEnum("Status")).isEqualTo(names(NativeStatus.values()));
        for (NativeStatus status : NativeStatus.values()) {
            assertThat(NativeStatus.of(status.ordinal())).isSameAs(status);
        }
        assertThat(NativeStatus.OK.ordinal()).isZero();
        assertThat(NativeStatus.of(-1)).isSameAs(NativeStatus.INTERNAL);
        assertThat(NativeStatus.of(100)).isSameAs(NativeStatus.INTERNAL);
    }

    /** A shim that numbers one of them itself would compile, in a namespace of its own. */
    @Test
    void nobodyElseNumbersThem() throws IOException {
        for (String shim : List.of("gloo", "mpi", "common")) {
            try (Stream<Path> files = Files.walk(Path.of("..", "native", shim))) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    if (!file.endsWith("jccl.h")) {
                        assertThat(Files.readString(file))
                                .as("%s", file)
                                .doesNotContainPattern(
                                        "(enum [^}]*|constexpr [^=;]*)\\bk(Int8|Sum|AllReduce"
                                                + "|Nonblocking|Mismatch|Aborted|PeerLost)\\b");
                    }
                }
            }
        }
    }

    private static List<String> names(Enum<?>[] values) {
        return Stream.of(values).map(Enum::name).toList();
    }
}
