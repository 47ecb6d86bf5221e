package org.jccl.etcd;

import java.time.Duration;
import org.jccl.Store;
import org.jccl.spi.StoreProvider;

/** Finds etcd for URLs. Programs do not use it. */
public final class EtcdStoreProvider implements StoreProvider {

    /** For the service loader. */
    public EtcdStoreProvider() {}

    @Override
    public String scheme() {
        return "etcd";
    }

    @Override
    public Store connect(String url, Duration timeout) {
        return EtcdStore.connect(url, timeout);
    }
}
