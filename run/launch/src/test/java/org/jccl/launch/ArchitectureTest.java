package org.jccl.launch;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.Location;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What a launcher inside somebody's program must not do. */
class ArchitectureTest {

    private static final JavaClasses MAIN =
            new ClassFileImporter()
                    .importLocations(
                            Set.of(
                                    Location.of(
                                            ProcessLauncher.class
                                                    .getProtectionDomain()
                                                    .getCodeSource()
                                                    .getLocation())));

    @Test
    void nobodyEndsTheProcess() {
        noClasses()
                .should()
                .callMethod(System.class, "exit", int.class)
                .orShould()
                .callMethod(Runtime.class, "exit", int.class)
                .orShould()
                .callMethod(Runtime.class, "halt", int.class)
                .check(MAIN);
    }

    /** The launcher's default is to pass on what the ranks print. */
    @Test
    void nobodyPrints() {
        noClasses()
                .that()
                .doNotHaveSimpleName("ProcessLauncherBuilder")
                .should()
                .accessField(System.class, "out")
                .orShould()
                .accessField(System.class, "err")
                .orShould()
                .callMethod(Throwable.class, "printStackTrace")
                .check(MAIN);
    }
}
