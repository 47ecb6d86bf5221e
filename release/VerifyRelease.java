import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * Looks at a release in a folder as Maven Central does before it takes one, and then at what nobody else would: what is
 * in the jars. Prints every fault, and exits with 1 if there is one.
 *
 * <pre>java release/VerifyRelease.java REPOSITORY GROUP VERSION SIGNED(true|false) BUILT_IN PLATFORM...</pre>
 */
final class VerifyRelease {

    private static final int CLASS_VERSION_OF_JAVA_17 = 61;

    /** The jars with native code of ours: where in the jar, and the libraries of each platform. */
    private static final Map<String, List<String>> NATIVES =
            Map.of(
                    "jccl-gloo",
                    List.of("org/jccl/gloo/%s/libjccl_gloo.so"),
                    "jccl-mpi",
                    List.of(
                            "org/jccl/mpi/%s/libjnijcclmpi_openmpi.so",
                            "org/jccl/mpi/%s/libjnijcclmpi_mpich.so",
                            "org/jccl/mpi/%s/libjnijcclmpi_abi.so"),
                    "jccl-nccl",
                    List.of("org/jccl/nccl/%s/libjnijcclnccl.so"));

    private final Path root;
    private final String group;
    private final String version;
    private final boolean signed;
    private final String builtIn;
    private final List<String> platforms;

    private final Map<String, Element> poms = new TreeMap<>();
    private final List<String> faults = new ArrayList<>();
    private int files;

    private VerifyRelease(
            Path repository, String group, String version, boolean signed, String builtIn, List<String> platforms) {
        this.root = repository.resolve(group.replace('.', '/'));
        this.group = group;
        this.version = version;
        this.signed = signed;
        this.builtIn = builtIn;
        this.platforms = platforms;
    }

    public static void main(String[] arguments) throws Exception {
        List<String> given = List.of(arguments);
        VerifyRelease release =
                new VerifyRelease(
                        Path.of(given.get(0)),
                        given.get(1),
                        given.get(2),
                        Boolean.parseBoolean(given.get(3)),
                        given.get(4),
                        given.subList(5, given.size()));
        release.verify();
        release.faults.forEach(fault -> System.err.println("release: " + fault));
        System.out.printf(
                "release: %d artifacts, %d files, %d faults%n",
                release.poms.size(), release.files, release.faults.size());
        System.exit(release.faults.isEmpty() ? 0 : 1);
    }

    private void verify() throws Exception {
        for (Path artifact : list(root)) {
            for (Path folder : list(artifact)) {
                String name = artifact.getFileName().toString();
                if (!folder.getFileName().toString().equals(version)) {
                    faults.add(folder + " is of another version than " + version);
                    continue;
                }
                Path pom = folder.resolve(name + "-" + version + ".pom");
                if (!Files.exists(pom)) {
                    faults.add(name + " has no POM");
                    continue;
                }
                poms.put(name, parse(pom));
            }
        }
        if (poms.isEmpty()) {
            faults.add(root + " has no artifact");
        }
        for (Map.Entry<String, Element> pom : poms.entrySet()) {
            pom(pom.getKey(), pom.getValue());
            Path folder = root.resolve(pom.getKey()).resolve(version);
            for (Path file : list(folder)) {
                file(pom.getKey(), file);
            }
            if (isJar(pom.getValue())) {
                jars(pom.getKey(), folder);
            }
        }
        bom();
    }

    /** What Central asks of a POM: its own or its parent's, but the names are its own. */
    private void pom(String name, Element pom) {
        for (String own : List.of("name", "description")) {
            require(text(pom, own) != null, name + "'s POM has no " + own);
        }
        for (List<String> path :
                List.of(
                        List.of("url"),
                        List.of("licenses", "license", "name"),
                        List.of("licenses", "license", "url"),
                        List.of("developers", "developer", "name"),
                        List.of("scm", "url"),
                        List.of("scm", "connection"),
                        List.of("scm", "developerConnection"))) {
            require(inherited(pom, path) != null, name + "'s POM has no " + String.join("/", path));
        }
        require(name.equals(text(pom, "artifactId")), name + "'s POM says " + text(pom, "artifactId"));
        require(group.equals(inherited(pom, List.of("groupId"))), name + "'s POM has another group");
        require(version.equals(inherited(pom, List.of("version"))), name + "'s POM has another version");
        require(!pom.getTextContent().contains("SNAPSHOT"), name + "'s POM names a SNAPSHOT");
        Element parent = child(pom, "parent");
        if (parent != null) {
            require(poms.containsKey(text(parent, "artifactId")), name + "'s parent is not in the release");
        }
        for (Element dependency : children(child(pom, "dependencies"), "dependency")) {
            String scope = text(dependency, "scope");
            String artifact = text(dependency, "artifactId");
            require(!"system".equals(scope), name + " depends on a file of the system: " + artifact);
            if (group.equals(text(dependency, "groupId")) && !"test".equals(scope)) {
                boolean ofTests = "test-jar".equals(text(dependency, "type"));
                require(
                        ofTests || poms.containsKey(artifact) || managedForTests(artifact),
                        name + " depends on " + artifact + ", which is not in the release");
            }
        }
    }

    /** Whether the parent gives this dependency the scope of tests where a POM names none. */
    private boolean managedForTests(String artifact) {
        Element management = child(child(poms.get("jccl-parent"), "dependencyManagement"), "dependencies");
        return children(management, "dependency").stream()
                .filter(dependency -> artifact.equals(text(dependency, "artifactId")))
                .anyMatch(dependency -> "test".equals(text(dependency, "scope")));
    }

    private void file(String name, Path file) throws Exception {
        String fileName = file.getFileName().toString();
        require(fileName.startsWith(name + "-" + version), fileName + " has not the name of its artifact");
        if (fileName.endsWith(".md5") || fileName.endsWith(".sha1") || fileName.endsWith(".asc")) {
            String of = fileName.substring(0, fileName.lastIndexOf('.'));
            require(Files.exists(file.resolveSibling(of)), fileName + " is of a file that is not there");
            return;
        }
        files++;
        byte[] content = Files.readAllBytes(file);
        for (Map.Entry<String, String> digest : Map.of(".md5", "MD5", ".sha1", "SHA-1").entrySet()) {
            Path sum = file.resolveSibling(fileName + digest.getKey());
            String is = HexFormat.of().formatHex(MessageDigest.getInstance(digest.getValue()).digest(content));
            require(
                    Files.exists(sum) && Files.readString(sum).strip().equals(is),
                    fileName + " lacks its right " + digest.getValue());
        }
        require(!signed || Files.exists(file.resolveSibling(fileName + ".asc")), fileName + " is not signed");
    }

    private void jars(String name, Path folder) throws IOException {
        String base = name + "-" + version;
        for (String kind : List.of("", "-sources", "-javadoc")) {
            Path jar = folder.resolve(base + kind + ".jar");
            if (!Files.exists(jar)) {
                faults.add(jar.getFileName() + " is missing");
                continue;
            }
            Map<String, byte[]> entries = entries(jar);
            if (kind.equals("-javadoc")) {
                require(entries.containsKey("index.html"), jar.getFileName() + " has no index.html");
            } else if (kind.equals("-sources")) {
                require(
                        entries.keySet().stream().anyMatch(entry -> entry.endsWith(".java")),
                        jar.getFileName() + " has no sources");
            } else {
                classes(jar.getFileName().toString(), entries);
                natives(jar.getFileName().toString(), name, platforms, entries);
            }
            paths(jar.getFileName().toString(), entries);
        }
        // A release for one platform has it in the jar without a classifier, and no other jar.
        if (NATIVES.containsKey(name) && platforms.size() > 1) {
            for (String platform : platforms) {
                Path jar = folder.resolve(base + "-" + platform + ".jar");
                if (Files.exists(jar)) {
                    Map<String, byte[]> entries = entries(jar);
                    classes(jar.getFileName().toString(), entries);
                    natives(jar.getFileName().toString(), name, List.of(platform), entries);
                    paths(jar.getFileName().toString(), entries);
                } else {
                    faults.add(jar.getFileName() + " is missing");
                }
            }
        }
    }

    private void classes(String jar, Map<String, byte[]> entries) throws IOException {
        require(entries.containsKey("META-INF/LICENSE"), jar + " has no licence");
        require(entries.containsKey("META-INF/NOTICE"), jar + " has no notice");
        Manifest manifest = new Manifest(new ByteArrayInputStream(entries.get("META-INF/MANIFEST.MF")));
        require(
                entries.containsKey("module-info.class")
                        || manifest.getMainAttributes().getValue("Automatic-Module-Name") != null,
                jar + " has no name as a module");
        for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
            String path = entry.getKey();
            if (!path.endsWith(".class")) {
                continue;
            }
            require(
                    path.startsWith("org/jccl/")
                            || path.equals("module-info.class")
                            || path.startsWith("META-INF/versions/"),
                    jar + " has a class of others: " + path);
            DataInputStream head = new DataInputStream(new ByteArrayInputStream(entry.getValue()));
            head.skipBytes(6);
            int major = head.readUnsignedShort();
            require(
                    major <= CLASS_VERSION_OF_JAVA_17 || path.startsWith("META-INF/versions/"),
                    jar + " has a class that Java 17 refuses: " + path);
        }
    }

    private void natives(String jar, String name, List<String> wanted, Map<String, byte[]> entries) {
        for (String pattern : NATIVES.getOrDefault(name, List.of())) {
            for (String platform : wanted) {
                String path = pattern.formatted(platform);
                require(entries.containsKey(path), jar + " lacks " + path);
            }
        }
        Set<String> folders = new TreeSet<>();
        for (String path : entries.keySet()) {
            if (path.contains(".so")) {
                folders.add(path.replaceAll(".*/(linux-[^/]*)/.*", "$1"));
            }
        }
        folders.removeAll(wanted);
        require(folders.isEmpty(), jar + " has natives of other platforms: " + folders);
    }

    /** Nothing tells where it was built. */
    private void paths(String jar, Map<String, byte[]> entries) {
        for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
            String content = new String(entry.getValue(), StandardCharsets.ISO_8859_1);
            require(!content.contains(builtIn), jar + " names " + builtIn + " in " + entry.getKey());
        }
    }

    private void bom() {
        Element bom = poms.get("jccl-bom");
        if (bom == null) {
            faults.add("there is no jccl-bom");
            return;
        }
        Set<String> listed = new TreeSet<>();
        for (Element dependency :
                children(child(child(bom, "dependencyManagement"), "dependencies"), "dependency")) {
            listed.add(text(dependency, "artifactId"));
        }
        Set<String> released = new TreeSet<>();
        poms.forEach(
                (name, pom) -> {
                    if (isJar(pom)) {
                        released.add(name);
                    }
                });
        require(listed.equals(released), "the BOM lists " + listed + ", but these are released: " + released);
    }

    private static boolean isJar(Element pom) {
        String packaging = text(pom, "packaging");
        return packaging == null || packaging.equals("jar");
    }

    private void require(boolean holds, String fault) {
        if (!holds) {
            faults.add(fault);
        }
    }

    private String inherited(Element pom, List<String> path) {
        Element at = pom;
        for (String name : path) {
            at = child(at, name);
        }
        if (at != null && !at.getTextContent().isBlank()) {
            return at.getTextContent().strip();
        }
        Element parent = child(pom, "parent");
        Element of = parent == null ? null : poms.get(text(parent, "artifactId"));
        return of == null ? null : inherited(of, path);
    }

    private static String text(Element element, String name) {
        Element child = child(element, name);
        return child == null || child.getTextContent().isBlank() ? null : child.getTextContent().strip();
    }

    private static Element child(Element element, String name) {
        List<Element> children = children(element, name);
        return children.isEmpty() ? null : children.get(0);
    }

    private static List<Element> children(Element element, String name) {
        List<Element> found = new ArrayList<>();
        for (Node node = element == null ? null : element.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element child && child.getTagName().equals(name)) {
                found.add(child);
            }
        }
        return found;
    }

    private static Element parse(Path pom) throws Exception {
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(pom.toFile()).getDocumentElement();
    }

    private static Map<String, byte[]> entries(Path jar) throws IOException {
        Map<String, byte[]> entries = new TreeMap<>();
        try (ZipInputStream zip = new ZipInputStream(Files.newInputStream(jar))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                if (!entry.isDirectory()) {
                    entries.put(entry.getName(), zip.readAllBytes());
                }
            }
        }
        return entries;
    }

    private static List<Path> list(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }
}
