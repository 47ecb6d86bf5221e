package org.jccl.spi;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/**
 * Finds services with two class loaders: that of the caller's own classes, and the context loader
 * of the thread. Each may see services that the other does not: threads of a common pool have the
 * system's context loader in a Spring Boot jar, and a plug-in's classes may see less than the
 * program. Thread-safe.
 */
public final class Services {

    private Services() {}

    /**
     * Returns one instance of each class that provides a service.
     *
     * @param own the loader of the class loader of the caller's classes, for instance {@code
     *     ServiceLoader.load(Service.class, Caller.class.getClassLoader())}; its module declares
     *     the use
     * @param ofThread the loader of the thread's context loader. Its providers that implement the
     *     service of another copy of this library are left out
     * @return the services, those of {@code own} first
     * @param <T> the service
     * @throws ServiceConfigurationError if a provider of {@code own} cannot be made
     */
    public static <T> List<T> of(ServiceLoader<T> own, ServiceLoader<T> ofThread) {
        Map<String, T> found = new LinkedHashMap<>();
        own.stream().forEach(each -> found.putIfAbsent(each.type().getName(), each.get()));
        Iterator<ServiceLoader.Provider<T>> others = ofThread.stream().iterator();
        while (true) {
            try {
                if (!others.hasNext()) {
                    return List.copyOf(found.values());
                }
                ServiceLoader.Provider<T> other = others.next();
                if (!found.containsKey(other.type().getName())) {
                    found.put(other.type().getName(), other.get());
                }
            } catch (ServiceConfigurationError e) {
                System.getLogger(Services.class.getName())
                        .log(System.Logger.Level.DEBUG, "a service is left out", e);
            }
        }
    }
}
