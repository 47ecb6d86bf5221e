package org.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.Loader;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a program is told that lacks PyTorch's native libraries. */
@Timeout(300)
final class TorchLibraryTest {

    private static final String PLATFORM = Loader.getPlatform();

    /** Loads twice: the second time JavaCPP fails in another way. */
    static final class Program {

        private Program() {}

        /**
         * Prints what the user would read.
         *
         * @param args none
         */
        public static void main(String[] args) {
            for (int i = 0; i < 2; i++) {
                try {
                    TorchLibrary.load();
                    System.out.println("loaded");
                } catch (UnsatisfiedLinkError e) {
                    System.out.println(e.getMessage());
                }
            }
        }
    }

    /** Runs with the class path of this test, but for files that begin with a name. */
    private String without(String... names) throws IOException, InterruptedException {
        String classPath =
                Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                        .filter(
                                entry ->
                                        Arrays.stream(names)
                                                .noneMatch(new File(entry).getName()::matches))
                        .collect(Collectors.joining(File.pathSeparator));
        return ChildJvm.outputOf(Program.class, Map.of(), "-cp", classPath);
    }

    private static String natives(String artifact) {
        return artifact + "-[0-9].*-" + PLATFORM + "\\.jar";
    }

    private static void assertNamesBothTimes(String output, String wanted) {
        assertThat(output.lines().filter(line -> line.contains("cannot be loaded")))
                .as(output)
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).containsPattern(wanted));
    }

    @Test
    void theArtifactThatIsMissingIsNamedWithItsClassifier() throws Exception {
        String pytorch = "org\\.bytedeco:pytorch:jar:" + PLATFORM + ":[0-9]";
        String openblas = "org\\.bytedeco:openblas:jar:" + PLATFORM + ":[0-9]";
        assertNamesBothTimes(
                without(natives("pytorch")),
                "no native libraries for " + PLATFORM + "; add " + pytorch + "[^ ]*, or ");
        assertNamesBothTimes(
                without(natives("openblas")),
                "no native libraries for " + PLATFORM + "; add " + openblas + "[^ ]*, or ");
        assertNamesBothTimes(
                without(natives("pytorch"), natives("openblas")),
                pytorch + "[^ ]* and " + openblas);
    }

    @Test
    void anArtifactOfWhichNothingIsThereIsNamedToo() throws Exception {
        assertNamesBothTimes(
                without("openblas-[0-9].*\\.jar"), "add org\\.bytedeco:openblas:jar:" + PLATFORM);
    }
}
