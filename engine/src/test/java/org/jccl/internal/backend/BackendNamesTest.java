package org.jccl.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jccl.BackendUnavailableException;
import org.jccl.Interop;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BackendNamesTest {

    private static final List<String> PRESENT = List.of("gloo", "ours");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "glooo | 'gloo'",
                "GLOO | 'gloo'",
                "golo | 'gloo'",
                "ncl | 'nccl'",
                "mpich | 'mpi'",
                "xccl | 'hccl' or 'nccl' or 'sccl'",
                "our | 'ours'",
            })
    void namesThatAreNearAreSuggested(String name, String suggested) {
        assertThat(BackendNames.notFound(name, PRESENT))
                .startsWith("no binding for backend '" + name + "' is on the class path")
                .contains("did you mean " + suggested + "?")
                .contains("found [gloo, ours]", "JCCL has [gloo, hccl, mpi, nccl, sccl]")
                .doesNotContain("org.jccl:jccl-");
    }

    @ParameterizedTest
    @CsvSource({"pigeons", "x", "pig", "cuda", "openmpi"})
    void nothingIsSuggestedForOtherNames(String name) {
        assertThat(BackendNames.notFound(name, PRESENT))
                .doesNotContain("did you mean", "org.jccl:jccl-")
                .contains("JCCL has [gloo, hccl, mpi, nccl, sccl]");
    }

    @Test
    void onlyForAPublishedNameAnArtifactIsNamed() {
        assertThat(BackendNames.notFound("nccl", PRESENT))
                .contains("add the dependency org.jccl:jccl-nccl", "META-INF/services")
                .doesNotContain("did you mean");
    }

    @ParameterizedTest
    @CsvSource({"glooo", "cpu:glooo", "'cpu:glooo,cuda:nccl'"})
    void everyFormOfTheSettingSaysSo(String names) {
        assertThatThrownBy(
                        () ->
                                Backends.choose(
                                        Optional.of(names),
                                        Optional.empty(),
                                        Interop.NONE,
                                        Map.of()))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("did you mean 'gloo'?");
    }

    @Test
    void thePublishedBackendsAreTheTreesBindings() throws IOException {
        try (Stream<Path> modules = Files.list(Path.of(".."))) {
            assertThat(
                            modules.map(module -> module.getFileName().toString())
                                    .filter(module -> module.endsWith("-binding"))
                                    .map(module -> module.replace("-binding", "")))
                    .containsExactlyInAnyOrderElementsOf(BackendNames.published());
        }
    }
}
