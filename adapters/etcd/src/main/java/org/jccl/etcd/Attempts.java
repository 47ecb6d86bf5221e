package org.jccl.etcd;

import io.etcd.jetcd.common.exception.ErrorCode;
import io.etcd.jetcd.common.exception.EtcdExceptionFactory;
import io.grpc.Status;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Deadline;
import org.jccl.spi.Durations;

/**
 * Makes requests again until they succeed, within the time limit of one call. A member that is lost
 * or frozen is followed by another one, since each attempt has a short limit.
 */
final class Attempts {

    /** Elections take a second or two, and a busy machine longer. */
    private static final Duration LEAST = Duration.ofSeconds(10);

    /** Doubled after each attempt without an answer: a busy machine may need more for TLS. */
    private static final Duration FIRST = Duration.ofSeconds(3);

    private static final Duration PAUSE = Duration.ofMillis(100);

    static final String LEASE_GONE =
            "If the lease is gone, no client kept it alive, and the job's keys are gone too: start the job again";

    /** What another attempt does not change. */
    private static final Set<ErrorCode> PERMANENT =
            EnumSet.of(
                    ErrorCode.INVALID_ARGUMENT,
                    ErrorCode.NOT_FOUND,
                    ErrorCode.PERMISSION_DENIED,
                    ErrorCode.UNAUTHENTICATED,
                    ErrorCode.FAILED_PRECONDITION,
                    ErrorCode.UNIMPLEMENTED,
                    ErrorCode.OUT_OF_RANGE);

    private final EtcdAddress address;
    private final CompletableFuture<Void> closing;
    private final Supplier<RuntimeException> closed;
    private final Duration limit;
    private final long begun = System.nanoTime();
    private Duration each = FIRST;

    /**
     * Starts the time.
     *
     * @param timeout of the call
     * @param closing completes when the store is closed
     * @param closed the exception for that
     */
    Attempts(
            EtcdAddress address,
            Duration timeout,
            CompletableFuture<Void> closing,
            Supplier<RuntimeException> closed) {
        this.address = address;
        this.closing = closing;
        this.closed = closed;
        this.limit = timeout.compareTo(LEAST) < 0 ? LEAST : timeout;
    }

    /**
     * Makes a request until it succeeds. It may be made more than once, also by attempts whose
     * answer was lost.
     *
     * @param what the request, for messages
     * @throws StoreException if it fails for good, or the time is over
     */
    <T> T make(String what, Supplier<CompletableFuture<T>> request) {
        while (true) {
            Throwable why;
            try {
                return once(request);
            } catch (Failed e) {
                why = e.getCause();
            }
            if (isPermanent(why)) {
                throw new StoreException(
                        "%s: %s failed: %s%s".formatted(address, what, reason(why), remedy(why)),
                        why);
            }
            if (isOver()) {
                throw new StoreTimeoutException(
                        "%s: %s did not succeed within %s, because too few members answer: %s. Check that more than half of etcd's members run and can be reached"
                                .formatted(address, what, Durations.text(limit), reason(why)),
                        why);
            }
            if (why instanceof TimeoutException) {
                each = each.multipliedBy(2);
            }
            await(new CompletableFuture<>(), PAUSE);
        }
    }

    private boolean isOver() {
        return System.nanoTime() - begun > limit.toNanos();
    }

    /**
     * Ends a call whose requests succeed without effect, since others change the same.
     *
     * @param what the call, for messages
     * @throws StoreTimeoutException if the time is over
     * @throws org.jccl.UsageException if the store is closed
     */
    void requireTime(String what) {
        if (closing.isDone()) {
            throw closed.get();
        }
        if (isOver()) {
            throw new StoreTimeoutException(
                    "%s: %s did not succeed within %s, because other clients changed the keys first each time"
                            .formatted(address, what, Durations.text(limit)),
                    null);
        }
    }

    /**
     * Takes a lock, whose owner may wait for etcd.
     *
     * @throws StoreTimeoutException if the time is over
     * @throws org.jccl.UsageException if the store is closed
     */
    void lock(ReentrantLock lock) {
        while (!Deadline.after(PAUSE).await(nanos -> lock.tryLock(nanos, TimeUnit.NANOSECONDS))) {
            requireTime("a change");
        }
    }

    /** One attempt has failed. */
    static final class Failed extends Exception {

        private static final long serialVersionUID = 1L;

        Failed(Throwable cause) {
            super(cause);
        }
    }

    private <T> T once(Supplier<CompletableFuture<T>> request) throws Failed {
        CompletableFuture<T> answer;
        try {
            answer = request.get();
        } catch (RuntimeException e) {
            throw new Failed(e);
        }
        Duration left = limit.minusNanos(System.nanoTime() - begun);
        Duration wait = left.compareTo(each) < 0 && left.compareTo(FIRST) > 0 ? left : each;
        if (!await(answer, wait)) {
            answer.cancel(true);
            throw new Failed(new TimeoutException("no answer within " + Durations.text(wait)));
        }
        try {
            return answer.join();
        } catch (CompletionException | java.util.concurrent.CancellationException e) {
            throw new Failed(e.getCause() == null ? e : e.getCause());
        }
    }

    /**
     * Waits until a future is complete. An interrupt does not end the wait, and leaves the flag
     * set.
     *
     * @return false if the time is over first
     * @throws org.jccl.UsageException if the store is closed
     */
    boolean await(CompletableFuture<?> future, Duration time) {
        CompletableFuture<Object> either = CompletableFuture.anyOf(future, closing);
        try {
            return Deadline.after(time).await(nanos -> isDone(either, nanos));
        } finally {
            either.cancel(false); // so that the future of closing forgets it
        }
    }

    private boolean isDone(CompletableFuture<Object> either, long nanos)
            throws InterruptedException {
        try {
            either.get(nanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException | java.util.concurrent.CancellationException e) {
            // The caller asks the future itself.
            return true;
        }
        if (closing.isDone()) {
            throw closed.get();
        }
        return true;
    }

    private static ErrorCode code(Throwable why) {
        return why instanceof TimeoutException
                ? ErrorCode.DEADLINE_EXCEEDED
                : EtcdExceptionFactory.toEtcdException(why).getErrorCode();
    }

    /** Returns whether another attempt would fail in the same way. */
    private static boolean isPermanent(Throwable why) {
        return PERMANENT.contains(code(why)) || isRejectedByTls(why) || isRejectedUser(why);
    }

    /** A certificate that one side does not accept. A lost connection is another exception. */
    private static boolean isRejectedByTls(Throwable why) {
        for (Throwable each = why; each != null; each = each.getCause()) {
            if (each instanceof SSLHandshakeException
                    || each instanceof SSLPeerUnverifiedException
                    || each instanceof CertificateException
                    || each instanceof SSLException && reason(each).contains("fatal alert")) {
                return true;
            }
        }
        return false;
    }

    /** jetcd wraps the answer to a password, with a code of its own. */
    private static boolean isRejectedUser(Throwable why) {
        String reason = reason(why);
        return reason.contains("authentication failed") || reason.contains("user name is empty");
    }

    private static String remedy(Throwable why) {
        String reason = reason(why);
        if (isRejectedByTls(why)) {
            return ". Check cacert, cert and key in the URL, and the certificates of etcd";
        }
        return switch (code(why)) {
            case NOT_FOUND -> ". " + LEASE_GONE;
            default ->
                    reason.contains("user") || reason.contains("permission")
                            ? ". Give user=NAME:PASSWORD in the URL, or ETCDCTL_USER"
                            : "";
        };
    }

    /** The messages of a failure and its causes, which have the address of the member. */
    private static String reason(Throwable why) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = why; each != null; each = each.getCause()) {
            String message = each.getMessage();
            if (message != null && text.indexOf(message) < 0) {
                text.append(text.length() == 0 ? "" : ", ").append(message);
            }
        }
        String status = Status.fromThrowable(why).getCode().name();
        return text.length() == 0 ? status : text.toString();
    }
}
