package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jccl.conformance.inmemory.InMemoryProvider;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tensors that somebody else implemented: nothing is known of their memory, so that no operation
 * may take one, wherever it stands among the arguments.
 */
class ForeignHandlesTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));

    private final Tensor own = Tensor.copyOf(new float[1]);
    private final Tensor other = Tensor.copyOf(new float[1]);
    private final ProcessGroup group =
            TestGroups.world(new InMemoryProvider(), HashStore.create(TIMEOUT), 0, 1, TIMEOUT);

    @AfterEach
    void leave() {
        group.close();
        own.close();
        other.close();
    }

    /** As a library for mocks makes one: nothing has a value. */
    private static Tensor foreign() {
        return (Tensor)
                Proxy.newProxyInstance(
                        Tensor.class.getClassLoader(),
                        new Class<?>[] {Tensor.class},
                        (proxy, method, arguments) -> null);
    }

    private record Place(Method method, int parameter) {
        @Override
        public String toString() {
            return method.getDeclaringClass().getSimpleName()
                    + "."
                    + method.getName()
                    + " argument "
                    + parameter;
        }
    }

    private static boolean takesTensors(Class<?> parameter) {
        return parameter == Tensor.class || parameter == List.class;
    }

    static List<Place> places() {
        return Stream.of(ProcessGroup.class, SyncCollectives.class, Batch.class)
                .flatMap(type -> Arrays.stream(type.getMethods()))
                .filter(
                        method ->
                                Arrays.asList(method.getParameterTypes()).contains(Tensor.class)
                                        || method.getName().equals("allToAll"))
                .filter(method -> !Modifier.isStatic(method.getModifiers()))
                .flatMap(
                        method ->
                                Stream.iterate(0, i -> i < method.getParameterCount(), i -> i + 1)
                                        .filter(i -> takesTensors(method.getParameterTypes()[i]))
                                        .map(i -> new Place(method, i)))
                .toList();
    }

    @Test
    void allOperationsAreTried() {
        assertThat(places()).hasSizeGreaterThan(50);
    }

    @ParameterizedTest
    @MethodSource("places")
    void operationsRefuseThem(Place place) {
        Method method = place.method();
        Object[] arguments = new Object[method.getParameterCount()];
        Tensor next = own;
        for (int i = 0; i < arguments.length; i++) {
            Class<?> type = method.getParameterTypes()[i];
            Tensor tensor = i == place.parameter() ? foreign() : next;
            next = takesTensors(type) ? other : next;
            arguments[i] =
                    type == Tensor.class
                            ? tensor
                            : type == List.class
                                    ? List.of(tensor)
                                    : type == ReduceOp.class
                                            ? ReduceOp.SUM
                                            : type == long[].class ? (Object) new long[] {1} : 0;
        }
        Object receiver =
                method.getDeclaringClass() == ProcessGroup.class
                        ? group
                        : method.getDeclaringClass() == Batch.class ? group.batch() : group.sync();
        assertThatThrownBy(() -> call(method, receiver, arguments))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("was not made by the static methods of Tensor");
        assertThat(group.sync()).satisfies(sync -> sync.allReduce(own, ReduceOp.SUM));
    }

    private static void call(Method method, Object receiver, Object[] arguments) throws Throwable {
        try {
            method.invoke(receiver, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
