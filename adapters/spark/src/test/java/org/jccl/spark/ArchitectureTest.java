package org.jccl.spark;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

class ArchitectureTest {

    private static final JavaClasses MAIN =
            new ClassFileImporter()
                    .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                    .importPackages("org.jccl.spark");

    @Test
    void onlyTheApiAndSparkAreUsed() {
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "java..",
                        "org.jccl",
                        "org.jccl.bootstrap",
                        "org.jccl.spi",
                        "org.jccl.spark",
                        "org.apache.spark..",
                        "scala..")
                .check(MAIN);
    }

    /**
     * Scala's collections are others in 2.12 than in 2.13, but for these, and the jar serves both.
     */
    @Test
    void ofScalaOnlyWhatAllItsVersionsHave() {
        classes()
                .should()
                .onlyDependOnClassesThat(
                        com.tngtech.archunit.base.DescribedPredicate.describe(
                                "are the same in Scala 2.12 and 2.13",
                                type ->
                                        !type.getPackageName().startsWith("scala")
                                                || java.util.Set.of(
                                                                "scala.Tuple2",
                                                                "scala.Function1",
                                                                "scala.collection.Iterator",
                                                                "scala.collection.Iterator$",
                                                                "scala.reflect.ClassTag",
                                                                "scala.reflect.ClassTag$",
                                                                "scala.runtime.AbstractFunction1")
                                                        .contains(type.getName())))
                .check(MAIN);
    }
}
