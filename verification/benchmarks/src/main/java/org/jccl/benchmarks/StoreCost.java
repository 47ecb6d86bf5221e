package org.jccl.benchmarks;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import org.jccl.Store;
import org.jccl.spi.StoreProvider;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;

/**
 * The time of single calls on a {@link TcpStore} and on etcd, in turn, so that both see the same
 * load of the machine. {@code script/bench/store --etcd} starts it.
 */
public final class StoreCost {

    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final int WARM_UP = 200;

    private StoreCost() {}

    /**
     * Prints a line for each kind of call.
     *
     * @param args the URL of the store on etcd, and how often each call is made
     */
    public static void main(String[] args) {
        int count = Integer.parseInt(args[1]);
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (TcpStoreServer server = TcpStoreServer.bind(any);
                Store tcp = TcpStore.connect("127.0.0.1", server.port(), TIMEOUT);
                Store etcd = connect(args[0])) {
            List<Store> stores = List.of(tcp, etcd);
            byte[] value = new byte[16];
            stores.forEach(store -> store.set("there", value));
            measure("set", stores, count, (store, i) -> store.set("k" + i % 100, value));
            measure("get", stores, count, (store, i) -> store.get("there"));
            measure("add", stores, count, (store, i) -> store.add("n", 1));
            measure(
                    "compareSet",
                    stores,
                    count,
                    (store, i) -> store.compareSet("c" + i, new byte[0], value));
            measure("wait, set by another", stores, count, StoreCost::awaitOther);
        }
    }

    private static Store connect(String url) {
        return ServiceLoader.load(StoreProvider.class)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("jccl-etcd is missing"))
                .connect(url, TIMEOUT);
    }

    /** Another client sets a key for which this one waits. */
    private static void awaitOther(Store store, int i) {
        String key = "w" + i + " " + System.nanoTime();
        CompletableFuture<Void> set =
                CompletableFuture.runAsync(
                        () -> {
                            try {
                                Thread.sleep(2);
                            } catch (InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                            store.set(key, new byte[1]);
                        });
        store.await(List.of(key));
        set.join();
    }

    private interface Call {
        void on(Store store, int number);
    }

    private static void measure(String what, List<Store> stores, int count, Call call) {
        double[][] micros = new double[stores.size()][count];
        for (int i = -WARM_UP; i < count; i++) {
            for (int which = 0; which < stores.size(); which++) {
                long begun = System.nanoTime();
                call.on(stores.get(which), i + WARM_UP);
                if (i >= 0) {
                    micros[which][i] = (System.nanoTime() - begun) / 1e3;
                }
            }
        }
        for (double[] each : micros) {
            Arrays.sort(each);
        }
        System.out.println(
                String.format(
                        Locale.ROOT,
                        "%-22s TcpStore %7.0f us, etcd %7.0f us in the median; %7.0f and %7.0f us in 9 of 10",
                        what,
                        micros[0][count / 2],
                        micros[1][count / 2],
                        micros[0][count * 9 / 10],
                        micros[1][count * 9 / 10]));
    }
}
