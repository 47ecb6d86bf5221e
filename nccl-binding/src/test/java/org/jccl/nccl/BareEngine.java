package org.jccl.nccl;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.internal.device.StreamEngine;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.StreamCommunicator;

/** An engine of one rank without a group around it, so that no watchdog looks after it. */
final class BareEngine {

    static final DeviceRuntime CUDA = new CudaRuntime(NcclLibraries.get().deviceCount());

    /** Called instead of a runtime's methods. */
    interface Interceptor {
        /** Answers in place of a method, or by calling it. */
        Object call(String method, Callable<Object> next) throws Exception;
    }

    private BareEngine() {}

    /** CUDA's runtime with something between it and the engine. */
    static DeviceRuntime cuda(Interceptor interceptor) {
        return (DeviceRuntime)
                Proxy.newProxyInstance(
                        DeviceRuntime.class.getClassLoader(),
                        new Class<?>[] {DeviceRuntime.class},
                        (proxy, method, arguments) ->
                                interceptor.call(
                                        method.getName(),
                                        () -> {
                                            try {
                                                return method.invoke(CUDA, arguments);
                                            } catch (InvocationTargetException e) {
                                                throw (Exception) e.getCause();
                                            }
                                        }));
    }

    static StreamEngine of(DeviceRuntime runtime) {
        return of(runtime, UnaryOperator.identity());
    }

    /** With something between the engine and the communicator. */
    static StreamEngine of(DeviceRuntime runtime, UnaryOperator<StreamCommunicator> between) {
        StreamCommunicator communicator =
                new NcclProvider()
                        .create(
                                new CommunicatorConfig(
                                        "test",
                                        0,
                                        1,
                                        Optional.empty(),
                                        World.TIMEOUT,
                                        World.TIMEOUT,
                                        World.GPU,
                                        Interop.NONE,
                                        Optional.empty(),
                                        Optional.empty(),
                                        Optional.empty(),
                                        List.of(),
                                        Optional.empty()));
        return new StreamEngine(
                between.apply(communicator),
                FailureContext.ofGroup("test", 0),
                World.TIMEOUT,
                new DesyncDetector(Optional.empty(), 0, 1),
                runtime,
                World.GPU,
                false);
    }
}
