package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What can be said of the manifests without a cluster; {@code PodsTest} runs their commands. */
class ManifestTest {

    static List<String> names() throws IOException {
        return Manifest.names();
    }

    @Test
    void thereIsOneForEachOperator() throws IOException {
        assertThat(names())
                .containsExactly(
                        "ascendjob.yaml",
                        "gpujob.yaml",
                        "job.yaml",
                        "mpijob.yaml",
                        "pytorchjob-elastic.yaml",
                        "pytorchjob.yaml",
                        "trainjob.yaml",
                        "volcano.yaml");
    }

    @ParameterizedTest
    @MethodSource("names")
    void everyObjectHasANameAndAKind(String name) throws IOException {
        assertThat(Manifest.read(name).objects())
                .isNotEmpty()
                .allSatisfy(
                        object -> {
                            assertThat(object.get("apiVersion").toString()).isNotBlank();
                            assertThat(object.get("kind").toString()).isNotBlank();
                            assertThat(((Map<?, ?>) object.get("metadata")).get("name").toString())
                                    .contains("digits");
                        });
    }

    @ParameterizedTest
    @MethodSource("names")
    void whatIsMountedIsThere(String name) throws IOException {
        for (Map<?, ?> pod : Manifest.read(name).having("containers")) {
            List<?> volumes = (List<?>) pod.get("volumes");
            List<Object> there =
                    volumes == null
                            ? List.of()
                            : volumes.stream()
                                    .<Object>map(v -> ((Map<?, ?>) v).get("name"))
                                    .toList();
            for (Map<?, ?> mount : new Manifest(List.of(pod)).having("mountPath")) {
                assertThat(there).contains(mount.get("name"));
            }
        }
    }

    /** Else the kubelet would kill the launcher before it has killed its ranks. */
    @ParameterizedTest
    @MethodSource("names")
    void ranksHaveLessTimeToEndThanTheirPod(String name) throws IOException {
        for (Map<?, ?> pod : Manifest.read(name).having("terminationGracePeriodSeconds")) {
            List<String> options = new Manifest(List.of(pod)).options();
            int ofRanks = Integer.parseInt(options.get(options.indexOf("--shutdown-timeout") + 1));
            assertThat((Integer) pod.get("terminationGracePeriodSeconds")).isGreaterThan(ofRanks);
        }
    }

    @ParameterizedTest
    @MethodSource("names")
    void programsAreOnesOfTheExamples(String name) throws IOException {
        List<String> classes =
                Manifest.read(name).having("image", "args").stream()
                        .flatMap(container -> Manifest.words(container.get("args")).stream())
                        .filter(word -> word.startsWith("org.jccl."))
                        .toList();
        assertThat(classes).isNotEmpty();
        for (String each : classes) {
            Path sources = Path.of("..", "examples", "src", "main", "java");
            assertThat(sources.resolve(each.replace('.', '/') + ".java")).exists();
        }
    }

    @Test
    void operatorsFindTheContainersThatTheyLookFor() throws IOException {
        for (String name : List.of("pytorchjob.yaml", "pytorchjob-elastic.yaml")) {
            assertThat(Manifest.read(name).having("image", "name"))
                    .extracting(container -> container.get("name").toString())
                    .containsOnly("pytorch");
        }
        assertThat(Manifest.read("ascendjob.yaml").having("image", "name"))
                .extracting(container -> container.get("name").toString())
                .containsOnly("ascend");
    }
}
