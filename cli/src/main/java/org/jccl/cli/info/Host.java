package org.jccl.cli.info;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * This machine and this Java, as reports name them.
 *
 * @param version version of this library
 * @param java version of Java
 * @param vm name of the virtual machine
 * @param os name and version of the operating system
 * @param arch its architecture
 * @param processors processors that this process may use
 */
public record Host(String version, String java, String vm, String os, String arch, int processors) {

    /**
     * Describes this process.
     *
     * @return the facts of this process
     */
    public static Host current() {
        String version = Host.class.getPackage().getImplementationVersion();
        return new Host(
                version == null ? "not from a jar" : version,
                System.getProperty("java.version"),
                System.getProperty("java.vm.name"),
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors());
    }

    /**
     * The facts in one line, for people.
     *
     * @return for instance {@code jccl 1.0, Java 17.0.15, Linux 6.1 on amd64, 8 processors}
     */
    public String line() {
        return "jccl "
                + version
                + ", Java "
                + java
                + ", "
                + os
                + " on "
                + arch
                + ", "
                + processors
                + (processors == 1 ? " processor" : " processors");
    }

    /**
     * The facts by name, for JSON.
     *
     * @return texts and numbers, in the order of this record
     */
    public Map<String, Object> facts() {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("jccl", version);
        facts.put("java", java);
        facts.put("vm", vm);
        facts.put("os", os);
        facts.put("arch", arch);
        facts.put("processors", processors);
        return facts;
    }
}
