package org.jccl.architecture;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Rules for the code of all published modules. */
class PublishedModulesTest {

    /** Internal packages of jccl-api and jccl-store. */
    private static final String[] SHARED = {
        "org.jccl.internal.checks", "org.jccl.internal.json", "org.jccl.internal.rendezvous"
    };

    private static final JavaClasses ALL =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .withImportOption(place -> !place.contains("-tests.jar"))
                    .importPackages("org.jccl");

    @Test
    void packagesHaveNoCycle() {
        assertThat(ALL)
                .extracting(JavaClass::getPackageName)
                .contains(
                        "org.jccl",
                        "org.jccl.cli.bench",
                        "org.jccl.djl",
                        "org.jccl.etcd",
                        "org.jccl.gloo",
                        "org.jccl.hccl",
                        "org.jccl.micrometer",
                        "org.jccl.mpi",
                        "org.jccl.nccl",
                        "org.jccl.pytorch",
                        "org.jccl.sccl.abi",
                        "org.jccl.spark",
                        "org.jccl.training");
        slices().matching("(**)").should().beFreeOfCycles().check(ALL);
    }

    /** The bindings have the engine where they are compiled, since their modules require it. */
    @Test
    void onlyTheEngineUsesItsPackages() {
        DescribedPredicate<JavaClass> engine =
                resideInAPackage("org.jccl.internal..")
                        .and(not(resideInAnyPackage(SHARED)))
                        .as("the engine's");
        assertThat(ALL).filteredOn(engine).isNotEmpty();
        noClasses().that(not(engine)).should().dependOnClassesThat(engine).check(ALL);
    }

    /**
     * The command may. A process that the user has asked to end says why, and a launcher passes on
     * what the ranks print.
     */
    @Test
    void librariesNeitherEndTheProcessNorPrint() {
        noClasses()
                .that()
                .resideOutsideOfPackage("org.jccl.cli..")
                .and()
                .doNotHaveFullyQualifiedName("org.jccl.internal.engine.ProcessEnd")
                .and()
                .doNotHaveFullyQualifiedName("org.jccl.internal.group.OpenGroups")
                .and()
                .doNotHaveFullyQualifiedName("org.jccl.launch.ProcessLauncherBuilder")
                .should()
                .callMethod(System.class, "exit", int.class)
                .orShould()
                .callMethod(Runtime.class, "exit", int.class)
                .orShould()
                .callMethod(Runtime.class, "halt", int.class)
                .orShould()
                .accessField(System.class, "out")
                .orShould()
                .accessField(System.class, "err")
                .orShould()
                .callMethod(Throwable.class, "printStackTrace")
                .check(ALL);
    }

    /**
     * A loop around {@code parkNanos} spins while the thread's interrupt flag is set. The
     * exceptions clear the flag, or end at an interrupt.
     */
    @Test
    void waitsSleepAlsoInInterruptedThreads() {
        noClasses()
                .that()
                .doNotHaveFullyQualifiedName("org.jccl.spi.Polling")
                .and()
                .doNotHaveFullyQualifiedName("org.jccl.internal.observe.ListenerThread")
                .and()
                .doNotHaveFullyQualifiedName("org.jccl.ranktable.RankTable")
                .should()
                .callMethod(LockSupport.class, "parkNanos", long.class)
                .because("org.jccl.spi.Polling.sleep sleeps in any case")
                .check(ALL);
    }
}
