package org.jccl.internal.backend;

import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * The release of one of our artifacts, and where its classes came from.
 *
 * @param artifact what messages call it
 * @param version empty if unknown, for instance because jars were merged into one
 * @param origin the jar or folder
 */
public record Release(String artifact, String version, String origin) {

    /** Begins the name of each of our artifacts in its manifest. */
    private static final String OUR_TITLES = "JCCL";

    private static final Pattern MAJOR_AND_MINOR = Pattern.compile("(\\d+)[.](\\d+)([.+-].*)?");

    /**
     * Finds the release of the artifact that has a class: in the descriptor of its module, or else
     * in the manifest of its jar, or else in the descriptor that is in its folder.
     */
    public static Release of(String artifact, Class<?> type) {
        Optional<URI> origin = origin(type);
        String version =
                Optional.ofNullable(type.getModule().getDescriptor())
                        .flatMap(ModuleDescriptor::rawVersion)
                        .or(() -> versionInManifest(type.getPackage()))
                        .or(() -> origin.flatMap(Release::versionIn))
                        .orElse("");
        return new Release(artifact, version, origin.map(URI::toString).orElse("unknown"));
    }

    private static Optional<URI> origin(Class<?> type) {
        CodeSource source = type.getProtectionDomain().getCodeSource();
        try {
            return source == null || source.getLocation() == null
                    ? Optional.empty()
                    : Optional.of(source.getLocation().toURI());
        } catch (URISyntaxException e) {
            return Optional.empty();
        }
    }

    /** Jars that were merged into one have the manifest of the program. */
    private static Optional<String> versionInManifest(Package of) {
        String title = of.getImplementationTitle();
        return title != null && title.startsWith(OUR_TITLES)
                ? Optional.ofNullable(of.getImplementationVersion())
                : Optional.empty();
    }

    private static Optional<String> versionIn(URI folder) {
        try {
            Path descriptor = Path.of(folder).resolve("module-info.class");
            if (!Files.exists(descriptor)) {
                return Optional.empty();
            }
            try (InputStream in = Files.newInputStream(descriptor)) {
                return ModuleDescriptor.read(in).rawVersion();
            }
        } catch (IOException | RuntimeException e) {
            // Not a folder, or not readable: nothing is known, and nothing is compared.
            return Optional.empty();
        }
    }

    /**
     * Checks that artifacts are of one release. Unknown versions are not compared.
     *
     * @throws UsageException if they are not; names each with its version and origin
     */
    static void requireOne(List<Release> all) {
        List<Release> known = all.stream().filter(each -> !each.version.isEmpty()).toList();
        if (known.stream().map(Release::version).distinct().count() > 1) {
            throw new UsageException(
                    FailureContext.NONE,
                    "artifacts of different releases of JCCL are mixed: "
                            + known.stream().map(Release::text).collect(Collectors.joining(", "))
                            + "; use one version of all artifacts of org.jccl, for instance that of"
                            + " org.jccl:jccl-bom");
        }
    }

    private String text() {
        return artifact + " is " + version + " (" + origin + ")";
    }

    /**
     * Returns whether ranks of two versions may form a world: if major and minor are equal.
     *
     * @param one a version, empty if unknown
     * @param other another one
     */
    public static boolean fit(String one, String other) {
        Matcher first = MAJOR_AND_MINOR.matcher(one);
        Matcher second = MAJOR_AND_MINOR.matcher(other);
        if (one.isEmpty() || other.isEmpty() || !first.matches() || !second.matches()) {
            return one.isEmpty() || other.isEmpty() || one.equals(other);
        }
        return first.group(1).equals(second.group(1)) && first.group(2).equals(second.group(2));
    }
}
