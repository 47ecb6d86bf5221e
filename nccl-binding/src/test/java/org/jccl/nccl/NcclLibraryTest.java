package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class NcclLibraryTest {

    private static List<String> found(
            Properties properties, Map<String, String> environment, NcclLibrary library) {
        return library.search(properties, environment).candidates().stream()
                .map(Object::toString)
                .toList();
    }

    @Test
    void propertyThenVariableAreTheOnlyPlaceWhenSet() {
        Properties properties = new Properties();
        properties.setProperty("org.jccl.nccl.library", "/a/libnccl.so.2");
        Map<String, String> environment =
                Map.of("JCCL_NCCL_LIBRARY", "/b/libnccl.so.2", "CUDA_HOME", "/c");
        assertThat(found(properties, environment, NcclLibrary.NCCL))
                .containsExactly("/a/libnccl.so.2 (system property org.jccl.nccl.library)");
        assertThat(found(new Properties(), environment, NcclLibrary.NCCL))
                .containsExactly("/b/libnccl.so.2 (environment variable JCCL_NCCL_LIBRARY)");
    }

    @Test
    void otherPlacesAreTriedInTheDocumentedOrder(@TempDir Path python) throws Exception {
        Path packages = Files.createDirectories(python.resolve("lib/python3.12/site-packages"));
        Map<String, String> environment =
                Map.of(
                        "CUDA_HOME", "/home",
                        "CUDA_PATH", "/path",
                        "LD_LIBRARY_PATH", "/one::/two",
                        "VIRTUAL_ENV", python.toString());
        List<String> found = found(new Properties(), environment, NcclLibrary.NCCL);
        assertThat(found)
                .containsSubsequence(
                        "/home/lib64/libnccl.so.2 (CUDA_HOME)",
                        "/home/lib/libnccl.so.2 (CUDA_HOME)",
                        "/path/lib64/libnccl.so.2 (CUDA_PATH)",
                        "/one/libnccl.so.2 (LD_LIBRARY_PATH)",
                        "/two/libnccl.so.2 (LD_LIBRARY_PATH)",
                        "/usr/lib64/libnccl.so.2 (dynamic linker)",
                        "/usr/local/cuda/lib64/libnccl.so.2 (default CUDA folder)",
                        packages + "/nvidia/nccl/lib/libnccl.so.2 (pip package in VIRTUAL_ENV)");
    }

    @Test
    void runtimesOfBothMajorVersionsAreLookedForInTheirPackages(@TempDir Path python)
            throws Exception {
        Path packages = Files.createDirectories(python.resolve("lib/python3.12/site-packages"));
        Map<String, String> environment = Map.of("VIRTUAL_ENV", python.toString());
        assertThat(found(new Properties(), environment, NcclLibrary.RUNTIME_13))
                .contains(
                        packages + "/nvidia/cu13/lib/libcudart.so.13 (pip package in VIRTUAL_ENV)");
        assertThat(found(new Properties(), environment, NcclLibrary.RUNTIME_12))
                .contains(
                        packages
                                + "/nvidia/cuda_runtime/lib/libcudart.so.12"
                                + " (pip package in VIRTUAL_ENV)");
    }

    @Test
    void driverIsLoadedOnlyWhereItIsNamed() {
        Map<String, String> environment = Map.of("CUDA_HOME", "/home", "LD_LIBRARY_PATH", "/one");
        assertThat(found(new Properties(), environment, NcclLibrary.DRIVER)).isEmpty();
        assertThat(
                        found(
                                new Properties(),
                                Map.of("JCCL_NCCL_DRIVER", "/a/libcuda.so.1"),
                                NcclLibrary.DRIVER))
                .containsExactly("/a/libcuda.so.1 (environment variable JCCL_NCCL_DRIVER)");
    }

    @Test
    void pythonWithoutPackagesIsReported() {
        Map<String, String> environment = Map.of("CONDA_PREFIX", "/nowhere");
        assertThat(found(new Properties(), environment, NcclLibrary.NCCL))
                .last()
                .asString()
                .contains("CONDA_PREFIX, which has no Python packages");
    }
}
