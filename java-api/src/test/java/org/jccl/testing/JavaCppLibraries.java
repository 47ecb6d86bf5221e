package org.jccl.testing;

import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Path;
import org.bytedeco.javacpp.Loader;

/** Libraries that JavaCPP's presets are to use, which tests call beside a binding. */
public final class JavaCppLibraries {

    private JavaCppLibraries() {}

    /**
     * Loads a library for the presets, before the first of their classes. JavaCPP takes what it has
     * loaded under a name, and else whatever it meets first on its own search path.
     *
     * @param name the presets' name of the library, for instance {@code x@.1}
     * @param property system property that holds the file's path
     */
    public static void load(String name, String property) {
        try {
            URL[] file = {Path.of(System.getProperty(property)).toUri().toURL()};
            Loader.loadLibrary(Loader.class, file, name);
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(property, e);
        }
    }
}
