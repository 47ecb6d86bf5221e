package org.jccl.sccl;

import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.jccl.spi.support.LibrarySearch;

/** The three libraries of the vendor, in the order in which they are loaded. */
enum ScclLibrary {
    /** The operations. The other libraries find it by its soname. */
    TPUDNN("tpudnn"),
    /** The runtime. */
    TPURT("tpurt"),
    /** SCCL. */
    SCCL("library");

    private static final String WHEEL = "torch_tpu/lib";

    /** System property that holds the file's path. */
    final String property;

    /** Environment variable that holds the file's path. */
    final String variable;

    ScclLibrary(String suffix) {
        this.property = "org.jccl.sccl." + suffix;
        this.variable = "JCCL_SCCL_" + suffix.toUpperCase(Locale.ROOT);
    }

    /** The file that the property or the variable names. */
    Optional<String> named(Properties properties, Map<String, String> environment) {
        return Optional.ofNullable(properties.getProperty(property))
                .or(() -> Optional.ofNullable(environment.get(variable)))
                .filter(value -> !value.isEmpty());
    }

    /**
     * The paths where a file is searched for, in the documented order.
     *
     * @param fileName with the chip in it, if the vendor's file name has it
     * @param beside the folder of libtpudnn, or null until it is found
     */
    LibrarySearch search(
            String fileName, Path beside, Properties properties, Map<String, String> environment) {
        LibrarySearch search =
                new LibrarySearch(fileName, properties, environment)
                        .property(property)
                        .variable(variable);
        if (beside != null) {
            search.folder(beside, "beside libtpudnn");
        }
        search.loaderPath().python(WHEEL);
        return fileName.split("[.]").length > 2 ? search : search.linker();
    }
}
