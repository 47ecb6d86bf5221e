package org.jccl.internal.host;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.spi.Capabilities;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;

/** A communicator that does what a test says, and remembers how the engine called it. */
public final class ScriptedCommunicator implements InvocationHandler {

    private static final Set<String> QUESTIONS =
            Set.of("capabilities", "reduces", "asynchronousError", "abandonsOperations", "hasLost");

    private final List<String> calls = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final Set<Long> complete = new HashSet<>();
    private long requests;
    private boolean blocked;
    private boolean aborted;

    /** Whether nothing ends its collectives; set before an engine is made. */
    public boolean endless;

    /** Whether requests are complete as soon as they are made. */
    public boolean completesAtOnce;

    /** Whether operations that fail stay with the library. */
    public boolean abandonsOperations;

    /** Thrown by the next operation. */
    public RuntimeException failure;

    /** Run once inside the next collective, where the caller has the turn. */
    public Runnable inside = () -> {};

    /** Reported when asked. */
    public JcclException noticed;

    /** Run when asked for errors. */
    public Runnable whenAsked = () -> {};

    /** Thrown when asked for errors. */
    public Error brokenQuestion;

    /** Said of messages, and of parts of different sizes to be gathered, unless null. */
    public String lacking;

    /** Thrown when a request is awaited that is complete. */
    public RuntimeException awaitFailure;

    /** The request that fails alone when it is awaited, or 0. */
    public long failedRequest;

    /** Thrown by an abort, after it has been noted. */
    public Throwable abortFailure;

    /** Thrown on closing. */
    public RuntimeException closeFailure;

    /** One whose collectives nothing ends. */
    public static ScriptedCommunicator endless() {
        ScriptedCommunicator library = new ScriptedCommunicator();
        library.endless = true;
        return library;
    }

    public HostCommunicator communicator() {
        return (HostCommunicator)
                Proxy.newProxyInstance(
                        HostCommunicator.class.getClassLoader(),
                        new Class<?>[] {HostCommunicator.class},
                        this);
    }

    private Capabilities capabilities() {
        Capabilities all =
                lacking == null
                        ? Capabilities.ALL
                        : Capabilities.ALL.without(
                                lacking,
                                OperationKind.SEND,
                                OperationKind.RECV,
                                OperationKind.ALL_GATHER_V,
                                OperationKind.ALL_TO_ALL_V);
        return endless ? all.with(Feature.ENDLESS_COLLECTIVES) : all;
    }

    /** From now on collectives block until {@link #unblock} or abort. */
    public synchronized void block() {
        blocked = true;
    }

    public synchronized void unblock() {
        blocked = false;
        notifyAll();
    }

    /** Makes a request ready; they are numbered from 1. */
    public synchronized void complete(long request) {
        complete.add(request);
        notifyAll();
    }

    /** Names of the methods that were called, questions left out. */
    public synchronized List<String> calls() {
        return List.copyOf(calls);
    }

    /** Thread of the n-th of {@link #calls}. */
    public synchronized Thread thread(int n) {
        return threads.get(n);
    }

    public synchronized void awaitCalls(int count) throws InterruptedException {
        while (calls.size() < count) {
            wait();
        }
    }

    @Override
    public synchronized Object invoke(Object proxy, Method method, Object[] arguments)
            throws Throwable {
        String name = method.getName();
        if (!QUESTIONS.contains(name) && !name.equals("test")) {
            calls.add(name);
            threads.add(Thread.currentThread());
            notifyAll();
        }
        return switch (name) {
            case "capabilities" -> capabilities();
            case "abandonsOperations" -> abandonsOperations;
            case "reduces" -> true;
            case "hasLost" -> false;
            case "asynchronousError" -> {
                whenAsked.run();
                if (brokenQuestion != null) {
                    throw brokenQuestion;
                }
                yield noticed;
            }
            case "test" -> aborted || complete.contains((long) arguments[0]);
            case "await" -> {
                blockUnless(() -> complete.contains((long) arguments[0]));
                throwUnlessNull(awaitFailure);
                if (failedRequest == (long) arguments[0]) {
                    throw new MismatchException(FailureContext.NONE, "message truncated");
                }
                yield -1;
            }
            case "abort" -> {
                aborted = true;
                notifyAll();
                yield throwUnlessNull(abortFailure);
            }
            case "close" -> throwUnlessNull(closeFailure);
            case "send", "recv" -> message();
            default -> collective();
        };
    }

    private static Object throwUnlessNull(Throwable failure) throws Throwable {
        if (failure != null) {
            throw failure;
        }
        return null;
    }

    private long message() {
        throwFailure();
        requests++;
        if (completesAtOnce) {
            complete.add(requests);
        }
        return requests;
    }

    private Object collective() throws InterruptedException {
        throwFailure();
        Runnable once = inside;
        inside = () -> {};
        once.run();
        blockUnless(() -> !blocked);
        return null;
    }

    private void throwFailure() {
        if (failure != null) {
            RuntimeException thrown = failure;
            failure = null;
            throw thrown;
        }
    }

    private void blockUnless(java.util.function.BooleanSupplier ready) throws InterruptedException {
        while (!ready.getAsBoolean()) {
            if (aborted) {
                throw new GroupAbortedException(FailureContext.NONE, "aborted");
            }
            wait();
        }
    }
}
