package org.jccl.gloo;

import java.io.ByteArrayOutputStream;
import java.security.cert.CertificateEncodingException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.TlsCredentials;
import org.jccl.UsageException;
import org.jccl.spi.Capabilities;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;
import org.jccl.spi.RefusedOperationException;

/** One rank's part of a group in libgloo. Each operation is one native call with primitives. */
final class GlooCommunicator implements HostCommunicator {

    private static final Capabilities WITH_TORCH =
            Capabilities.ALL
                    .with(Feature.SEPARATE_LIST_REDUCTION)
                    .without(
                            "PyTorch's ranks gather only equal parts: pad them to the largest",
                            OperationKind.ALL_GATHER_V);

    private final long handle;
    private final Duration timeout;
    private final boolean torch;

    /** Takes ownership of the native communicator. */
    GlooCommunicator(long handle, Duration timeout, boolean torch) {
        this.handle = handle;
        this.timeout = timeout;
        this.torch = torch;
    }

    /** Encrypts all connections that are made later. */
    void encrypt(TlsCredentials credentials) {
        byte[] certificates = encoded(credentials.certificates());
        byte[] authorities = encoded(credentials.authorities());
        byte[] key = credentials.key().getEncoded();
        try {
            checkSetUp(
                    GlooNative.tls(
                            handle,
                            certificates,
                            certificates.length,
                            key,
                            key.length,
                            authorities,
                            authorities.length));
        } finally {
            Arrays.fill(key, (byte) 0);
        }
    }

    private static byte[] encoded(List<X509Certificate> certificates) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (X509Certificate each : certificates) {
            try {
                all.writeBytes(each.getEncoded());
            } catch (CertificateEncodingException e) {
                throw new UsageException(
                        FailureContext.NONE,
                        "TLS: the certificate of " + each.getSubjectX500Principal() + ": " + e,
                        e);
            }
        }
        return all.toByteArray();
    }

    void listen(String address, long firstNumber) {
        checkSetUp(GlooNative.listen(handle, address, firstNumber));
    }

    int address(int peer, byte[] out) {
        int length = GlooNative.address(handle, peer, out, out.length);
        if (length < 0) {
            throw failure(-length);
        }
        return length;
    }

    /**
     * Waits for a limited time until {@link #connect} need not wait for the peer. Returns whether
     * it need not.
     */
    boolean awaitCaller(int peer, byte[] address, Duration within) {
        long millis = Math.max(1, within.toMillis());
        int awaited = GlooNative.awaitCaller(handle, peer, address, address.length, millis);
        if (awaited < 0) {
            throw failure(-awaited);
        }
        return awaited > 0;
    }

    void connect(int peer, byte[] address, Duration within) {
        long millis = Math.max(1, within.toMillis());
        checkSetUp(GlooNative.connect(handle, peer, address, address.length, millis));
    }

    /** Enters a barrier with the remaining time for connecting. */
    void barrier(Duration within) {
        checkSetUp(GlooNative.barrier(handle, Math.max(1, within.toMillis())));
    }

    @Override
    public Capabilities capabilities() {
        return torch ? WITH_TORCH : Capabilities.ALL;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        boolean known = !torch || op.kind() != ReduceOp.Kind.PREMUL_SUM;
        return known && !type.isFloat8();
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root) {
        check(GlooNative.broadcast(handle, address, count, type.ordinal(), root));
    }

    @Override
    public void allReduce(long input, long output, long count, DataType type, ReduceOp op) {
        check(
                GlooNative.allReduce(
                        handle,
                        input,
                        output,
                        count,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor()));
    }

    @Override
    public void reduce(long input, long output, long count, DataType type, ReduceOp op, int root) {
        check(
                GlooNative.reduce(
                        handle,
                        input,
                        output,
                        count,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor(),
                        root));
    }

    @Override
    public void allGather(long input, long output, long count, DataType type) {
        check(GlooNative.allGather(handle, input, output, count, type.ordinal()));
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type) {
        check(GlooNative.allGatherV(handle, input, output, counts, type.ordinal()));
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root) {
        check(GlooNative.gather(handle, input, output, count, type.ordinal(), root));
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root) {
        check(GlooNative.scatter(handle, input, output, count, type.ordinal(), root));
    }

    @Override
    public void reduceScatter(long input, long output, long count, DataType type, ReduceOp op) {
        check(
                GlooNative.reduceScatter(
                        handle,
                        input,
                        output,
                        count,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor()));
    }

    @Override
    public void reduceScatterV(long input, long output, long[] counts, DataType type, ReduceOp op) {
        check(
                GlooNative.reduceScatterV(
                        handle,
                        input,
                        output,
                        counts,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor()));
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type) {
        check(GlooNative.allToAll(handle, input, output, count, type.ordinal()));
    }

    @Override
    public void allToAllV(
            long input, long output, long[] inputCounts, long[] outputCounts, DataType type) {
        check(
                GlooNative.allToAllV(
                        handle, input, output, inputCounts, outputCounts, type.ordinal()));
    }

    @Override
    public long send(long address, long count, DataType type, int peer, int tag) {
        return started(GlooNative.send(handle, address, count, type.ordinal(), peer, tag));
    }

    @Override
    public long recv(long address, long count, DataType type, int peer, int tag) {
        return started(GlooNative.recv(handle, address, count, type.ordinal(), peer, tag));
    }

    private long started(long request) {
        if (request < 0) {
            throw failure((int) -request);
        }
        return request;
    }

    @Override
    public void barrier() {
        check(GlooNative.barrier(handle, 0));
    }

    @Override
    public boolean test(long request) {
        return GlooNative.test(handle, request) != 0; // after a failure await throws immediately
    }

    @Override
    public int await(long request) {
        int result = GlooNative.await(handle, request);
        if (result < 0) {
            throw failure(-result);
        }
        return result - 1;
    }

    @Override
    public boolean hasLost(int peer) {
        // PyTorch's ranks do not announce that they leave: such a rank may have completed its
        // operations.
        return !torch && GlooNative.lost(handle, peer) == 1;
    }

    @Override
    public void abort() {
        GlooNative.abort(handle);
    }

    @Override
    public void close() {
        GlooNative.close(handle);
    }

    private void check(int status) {
        if (status != 0) {
            JcclException failure = failure(status);
            // PyTorch's ranks count such a call and reject it, and so does the shim.
            throw torch && failure instanceof UsageException
                    ? new RefusedOperationException(failure.reason())
                    : failure;
        }
    }

    private void checkSetUp(int status) {
        if (status != 0) {
            throw failure(status);
        }
    }

    private JcclException failure(int status) {
        return GlooErrors.of(status, handle, timeout);
    }
}
