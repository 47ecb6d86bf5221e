package org.jccl.spi;

import java.time.Duration;
import org.jccl.Store;

/**
 * Connects to stores that a URL names, such as {@code etcd://host:2379/prefix}. Implementations are
 * found by {@link java.util.ServiceLoader}, and need a public constructor without parameters.
 */
public interface StoreProvider {

    /**
     * Returns the scheme of the URLs.
     *
     * @return in lower case, for instance {@code etcd}
     */
    String scheme();

    /**
     * Connects to a store.
     *
     * @param url its address, which may have {@code rank} and {@code world_size} in the query
     * @param timeout for connecting, and the timeout of the store
     * @return the store; the caller closes it
     * @throws org.jccl.StoreException if it cannot be reached in time
     * @throws org.jccl.UsageException if the URL is malformed
     */
    Store connect(String url, Duration timeout);
}
