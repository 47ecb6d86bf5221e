package org.jccl.architecture;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jccl.Batch;
import org.jccl.CheckReturnValue;
import org.jccl.ProcessGroup;
import org.jccl.Work;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program that drops a work is warned of it when it is compiled. */
class DroppedWorkTest {

    private static final Duration LONG = enough(Duration.ofSeconds(120));

    private static final List<String> PACKAGES =
            List.of(
                    "api",
                    "code",
                    "comp",
                    "file",
                    "main",
                    "model",
                    "parser",
                    "processing",
                    "tree",
                    "util");

    @Test
    void eachMethodThatIssuesAnOperationIsMarked() {
        JavaClasses api = new ClassFileImporter().importClasses(ProcessGroup.class, Batch.class);
        methods()
                .that(
                        DescribedPredicate.describe(
                                "return works",
                                (JavaMethod method) ->
                                        method.getReturnType().getAllInvolvedRawTypes().stream()
                                                .anyMatch(type -> type.isEquivalentTo(Work.class))))
                .should()
                .beAnnotatedWith(CheckReturnValue.class)
                .check(api);
    }

    @Test
    void errorProneWarnsOfADroppedWork(@TempDir Path directory) throws Exception {
        Path program = directory.resolve("Drops.java");
        Files.writeString(
                program,
                """
                import org.jccl.*;

                class Drops {
                    void step(ProcessGroup world, Tensor tensor) {
                        world.allReduce(tensor, ReduceOp.SUM);
                        world.barrier().await();
                        world.batch().send(tensor, 1, 0).issue();
                    }
                }
                """);
        String found = compile(program);
        assertThat(found)
                .contains("Drops.java:5: ", "Drops.java:7: ", "CheckReturnValue")
                .doesNotContain("Drops.java:6: ");
    }

    /** What the compiler says with Error Prone, which needs its internal packages. */
    private static String compile(Path program) throws Exception {
        String path = System.getProperty("java.class.path");
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "javac").toString());
        PACKAGES.forEach(
                each ->
                        command.add(
                                "-J--add-exports=jdk.compiler/com.sun.tools.javac."
                                        + each
                                        + "=ALL-UNNAMED"));
        command.addAll(
                List.of(
                        "-J--add-opens=jdk.compiler/com.sun.tools.javac.code=ALL-UNNAMED",
                        "-J--add-opens=jdk.compiler/com.sun.tools.javac.comp=ALL-UNNAMED",
                        "-XDcompilePolicy=simple",
                        "--should-stop=ifError=FLOW",
                        "-Xplugin:ErrorProne",
                        "-processorpath",
                        path,
                        "-classpath",
                        path,
                        "-d",
                        program.getParent().toString(),
                        program.toString()));
        Path output = program.resolveSibling("output");
        Process javac =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        assertThat(javac.waitFor(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
        return Files.readString(output);
    }
}
