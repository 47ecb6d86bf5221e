package org.jccl.cli;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;

/** The signals of {@code jccl run}. */
final class Signals {

    /** Those that end a process by default, and that no JVM needs. */
    private static final List<String> PASSED_ON =
            List.of("USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "PWR", "XCPU");

    /** Those that end the job: the JVM runs its shutdown hooks, or prints its threads (QUIT). */
    private static final List<String> OF_THE_JVM = List.of("TERM", "INT", "HUP", "QUIT");

    /** An exit code above this stands for the number of a signal. */
    private static final int OF_SIGNAL = 128;

    private Signals() {}

    /**
     * Reads torchrun's list of signals.
     *
     * @param list names, with or without SIG, separated by commas
     * @return those that the JVM does not handle itself
     * @throws IllegalArgumentException if a name is unknown
     */
    static Set<String> parse(String list) {
        Set<String> names = new LinkedHashSet<>();
        for (String given : list.split(",")) {
            String name = given.strip().toUpperCase(Locale.ROOT);
            name = name.startsWith("SIG") ? name.substring(3) : name;
            if (PASSED_ON.contains(name)) {
                names.add(name);
            } else if (!OF_THE_JVM.contains(name)) {
                throw new IllegalArgumentException(
                        "signal '"
                                + given
                                + "' cannot be passed on; these can: "
                                + String.join(", ", PASSED_ON)
                                + ". "
                                + String.join(", ", OF_THE_JVM)
                                + " need no option");
            }
        }
        return names;
    }

    /** Calls a handler with the name of each signal that is passed on. */
    static void handle(Consumer<String> handler) {
        for (String name : PASSED_ON) {
            // The JVM suspends threads by USR2, unless the jccl script gave it another signal.
            if (!name.equals("USR2") || System.getProperty("jccl.sr.signum") != null) {
                handle(name, handler);
            }
        }
    }

    /** Java has no other interface for signals; the compiler does not let it be named. */
    private static void handle(String name, Consumer<String> handler) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> type = Class.forName("sun.misc.SignalHandler");
            Object proxy =
                    Proxy.newProxyInstance(
                            type.getClassLoader(),
                            new Class<?>[] {type},
                            (self, method, arguments) ->
                                    switch (method.getName()) {
                                        case "handle" -> {
                                            handler.accept(name);
                                            yield null;
                                        }
                                        case "hashCode" -> System.identityHashCode(self);
                                        case "equals" -> self == arguments[0];
                                        default -> "handler of SIG" + name;
                                    });
            signal.getMethod("handle", signal, type)
                    .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
        } catch (InvocationTargetException unknownHere) {
            // The system or this JVM does not have the signal, so nothing is promised for it.
            return;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this Java has no module jdk.unsupported", e);
        }
    }

    /** The exit code of a process that a signal ended. */
    static int exitCode(String name) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Object made = signal.getConstructor(String.class).newInstance(name);
            return OF_SIGNAL + (int) signal.getMethod("getNumber").invoke(made);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("SIG" + name + " is unknown here", e);
        }
    }
}
