package org.jccl.gloo;

import org.bytedeco.javacpp.annotation.Cast;
import org.bytedeco.javacpp.annotation.Name;
import org.bytedeco.javacpp.annotation.NoException;
import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;

/**
 * The functions of {@code native/gloo/jccl_gloo.h}, which documents them. JavaCPP compiles them and
 * the glue code into one library, which {@link GlooProvider} loads.
 */
@Properties(
        value =
                @Platform(
                        value = {"linux-x86_64", "linux-arm64"},
                        library = GlooNative.LIBRARY,
                        include = {
                            "jccl_gloo.h",
                            "reduce.cc",
                            "tls.cc",
                            "transport.cc",
                            "encrypted.cc",
                            "no_listener.cc",
                            "listener.cc",
                            "exchange.cc",
                            "communicator.cc",
                            "collectives.cc",
                            "torch_transport.cc",
                            "torch.cc",
                            "jccl_gloo.cc"
                        },
                        link = {":libgloo.a", "dl"}))
@NoException
final class GlooNative {

    static final String LIBRARY = "jccl_gloo";

    private GlooNative() {}

    @Name("jccl_gloo_version")
    static native String version();

    @Name("jccl_gloo_create")
    static native long create(
            int rank, int size, long timeoutMillis, int torch, long busyPollNanos);

    @Name("jccl_gloo_tls")
    static native int tls(
            long handle,
            byte[] certificates,
            int certificatesLength,
            byte[] key,
            int keyLength,
            byte[] authorities,
            int authoritiesLength);

    @Name("jccl_gloo_listen")
    static native int listen(long handle, String address, long firstNumber);

    @Name("jccl_gloo_address")
    static native int address(long handle, int peer, byte[] out, int capacity);

    @Name("jccl_gloo_await_caller")
    static native int awaitCaller(
            long handle, int peer, byte[] address, int length, long timeoutMillis);

    @Name("jccl_gloo_connect")
    static native int connect(
            long handle, int peer, byte[] address, int length, long timeoutMillis);

    @Name("jccl_gloo_barrier")
    static native int barrier(long handle, long timeoutMillis);

    @Name("jccl_gloo_broadcast")
    static native int broadcast(long handle, long data, long count, int type, int root);

    @Name("jccl_gloo_all_reduce")
    static native int allReduce(
            long handle, long in, long out, long count, int type, int kind, double factor);

    @Name("jccl_gloo_reduce")
    static native int reduce(
            long handle,
            long in,
            long out,
            long count,
            int type,
            int kind,
            double factor,
            int root);

    @Name("jccl_gloo_all_gather")
    static native int allGather(long handle, long in, long out, long count, int type);

    @Name("jccl_gloo_all_gather_v")
    static native int allGatherV(
            long handle, long in, long out, @Cast("const int64_t*") long[] counts, int type);

    @Name("jccl_gloo_gather")
    static native int gather(long handle, long in, long out, long count, int type, int root);

    @Name("jccl_gloo_scatter")
    static native int scatter(long handle, long in, long out, long count, int type, int root);

    @Name("jccl_gloo_reduce_scatter")
    static native int reduceScatter(
            long handle, long in, long out, long count, int type, int kind, double factor);

    @Name("jccl_gloo_reduce_scatter_v")
    static native int reduceScatterV(
            long handle,
            long in,
            long out,
            @Cast("const int64_t*") long[] counts,
            int type,
            int kind,
            double factor);

    @Name("jccl_gloo_all_to_all")
    static native int allToAll(long handle, long in, long out, long count, int type);

    @Name("jccl_gloo_all_to_all_v")
    static native int allToAllV(
            long handle,
            long in,
            long out,
            @Cast("const int64_t*") long[] inCounts,
            @Cast("const int64_t*") long[] outCounts,
            int type);

    @Name("jccl_gloo_send")
    static native long send(long handle, long data, long count, int type, int peer, int tag);

    @Name("jccl_gloo_recv")
    static native long recv(long handle, long data, long count, int type, int peer, int tag);

    @Name("jccl_gloo_test")
    static native int test(long handle, long request);

    @Name("jccl_gloo_await")
    static native int await(long handle, long request);

    @Name("jccl_gloo_lost")
    static native int lost(long handle, int peer);

    @Name("jccl_gloo_abort")
    static native void abort(long handle);

    @Name("jccl_gloo_close")
    static native void close(long handle);

    @Name("jccl_gloo_message")
    static native int message(long handle, byte[] out, int capacity);
}
