package org.jccl.testing;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import org.jccl.Availability;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.support.NativeLibraries;

/** A binding whose jar has no native libraries for the platform that it runs on. */
public final class JarOfAnotherPlatform extends URLClassLoader {

    private final String classes;

    private JarOfAnotherPlatform(Class<?> provider) {
        super(
                new URL[] {provider.getProtectionDomain().getCodeSource().getLocation()},
                provider.getClassLoader());
        this.classes = provider.getPackageName() + ".";
    }

    /**
     * What such a binding says of itself.
     *
     * @param provider the binding's
     * @return what a second copy of its class says
     * @throws ReflectiveOperationException if there is no second copy
     * @throws IOException if the copy's files cannot be closed
     */
    public static Availability availabilityOf(Class<? extends BackendProvider> provider)
            throws ReflectiveOperationException, IOException {
        try (JarOfAnotherPlatform loader = new JarOfAnotherPlatform(provider)) {
            Class<?> copy = loader.loadClass(provider.getName());
            return ((BackendProvider) copy.getConstructor().newInstance()).availability();
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            if (!name.startsWith(classes)) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : findClass(name);
        }
    }

    @Override
    public URL getResource(String name) {
        return name.contains("/" + NativeLibraries.platform() + "/")
                ? null
                : super.getResource(name);
    }
}
