package org.jccl.testing;

import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReader;
import java.lang.module.ModuleReference;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.jccl.BackendOptions;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CommunicatorConfig;

/**
 * Calls with wrong arguments, made from what a module exports by reflection: a method that is added
 * is covered without anybody's thought. Each must succeed or end in an exception of this library.
 */
public final class Misuse {

    /** What the language generates, or whose exceptions are the Java library's contract. */
    private static final Set<String> NOT_OURS = Set.of("valueOf", "values", "compareTo");

    private static final int MIXED_CALLS = 30;
    private static final int DEEPEST = 3;

    /** Makes a value for a rank; what it makes may be null. */
    @FunctionalInterface
    public interface Sample {
        /**
         * Makes the value.
         *
         * @param rank who uses it
         * @return the value
         * @throws Exception when there is none
         */
        Object make(int rank) throws Exception;
    }

    private record Value(String name, Sample sample) {}

    /**
     * A call.
     *
     * @param executable what to call
     * @param receiver on what, null for a constructor or a static method
     * @param arguments with what
     */
    public record Call(Executable executable, Sample receiver, List<Value> arguments) {

        /** The method with the arguments' names, for instance {@code Tensor.slice(-1, 0)}. */
        @Override
        public String toString() {
            return id(executable) + arguments.stream().map(Value::name).toList();
        }

        /**
         * Calls.
         *
         * @param rank for whom
         * @return what it threw, or empty
         * @throws AssertionError when it threw what it may not
         */
        public Optional<JcclException> make(int rank) {
            try {
                Object[] values = new Object[arguments.size()];
                for (int i = 0; i < values.length; i++) {
                    values[i] = arguments.get(i).sample().make(rank);
                }
                if (executable instanceof Constructor<?> constructor) {
                    constructor.newInstance(values);
                } else {
                    Object receiving = receiver == null ? null : receiver.make(rank);
                    close(((Method) executable).invoke(receiving, values));
                }
                return Optional.empty();
            } catch (JcclException e) {
                return Optional.of(e); // from making a value, or closing the result
            } catch (InvocationTargetException e) {
                return thrown(e.getCause());
            } catch (Exception e) {
                throw new AssertionError(this + " cannot be called", e);
            }
        }

        private static void close(Object result) throws Exception {
            Object made = result instanceof Optional<?> optional ? optional.orElse(null) : result;
            if (made instanceof AutoCloseable closeable) {
                closeable.close();
            }
        }

        private Optional<JcclException> thrown(Throwable thrown) {
            if (thrown instanceof JcclException ours) {
                return Optional.of(ours);
            }
            boolean declared =
                    Arrays.stream(executable.getExceptionTypes())
                            .anyMatch(type -> type.isInstance(thrown));
            if (declared) {
                return Optional.empty();
            }
            throw new AssertionError(this + " threw " + thrown, thrown);
        }
    }

    private final Map<Class<?>, List<Value>> known = new HashMap<>();
    private final Map<Class<?>, Optional<Sample>> found = new HashMap<>();
    private final Map<String, String> reasons = new LinkedHashMap<>();
    private final List<String> withoutReceiver = new ArrayList<>();

    /** A registry with values of the Java library's types. */
    public Misuse() {
        value(int.class, 0, -1, 2, Integer.MIN_VALUE, Integer.MAX_VALUE);
        value(long.class, 0L, 1L, -1L, Long.MIN_VALUE, Long.MAX_VALUE);
        value(double.class, 1.0, Double.NaN, Double.NEGATIVE_INFINITY);
        value(boolean.class, false, true);
        value(String.class, "x", null, "", " ", "\0", "=", "1:", "x".repeat(100_000));
        value(
                Duration.class,
                Duration.ofMillis(20),
                null,
                Duration.ZERO,
                Duration.ofSeconds(-1),
                Duration.ofSeconds(Long.MAX_VALUE));
        value(byte[].class, new byte[] {1}, null, new byte[0]);
        value(
                long[].class,
                new long[] {1, 1},
                null,
                new long[0],
                new long[] {-1, 3},
                new long[] {Long.MAX_VALUE, Long.MAX_VALUE});
        value(int[].class, new int[] {0, 1}, null, new int[0], new int[] {-1}, new int[] {1, 1});
        value(String[].class, new String[] {"x"}, null, new String[0], new String[] {null});
        value(Object.class, new float[2], null, "text", new float[0], new Object[] {null});
        value(OptionalInt.class, OptionalInt.empty(), null, OptionalInt.of(-1));
        value(OptionalLong.class, OptionalLong.empty(), null, OptionalLong.of(-1));
        value(Path.class, Path.of("/dev/null/no/such/file"), null, Path.of(""), Path.of("/"));
        value(Runnable.class, (Runnable) () -> {}, (Object) null);
    }

    /**
     * A registry for what is public in a device's binding: a provider and its options.
     *
     * @param provider without state
     * @param options good ones
     * @return the registry
     */
    public static Misuse ofBinding(BackendProvider provider, BackendOptions options) {
        return new Misuse()
                .with(Device.class, rank -> Device.CPU, rank -> new Device("abacus", 7))
                .with(BackendOptions.class, rank -> options)
                .with(options.getClass(), rank -> options)
                .with(BackendProvider.class, rank -> provider)
                .with(provider.getClass(), rank -> provider)
                .with(classOfCreate(provider), rank -> provider)
                .without(
                        classOfCreate(provider).getSimpleName() + ".create",
                        "works on addresses and configurations of engines, which have checked"
                                + " them");
    }

    /** The provider's own, or the base that it shares with other bindings. */
    private static Class<?> classOfCreate(BackendProvider provider) {
        try {
            return provider.getClass()
                    .getMethod("create", CommunicatorConfig.class)
                    .getDeclaringClass();
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    private void value(Class<?> type, Object... values) {
        List<Value> list = new ArrayList<>();
        for (Object value : values) {
            list.add(new Value(text(value), rank -> value));
        }
        known.put(type, list);
    }

    private static String text(Object value) {
        String text =
                value instanceof Object[] array
                        ? Arrays.toString(array)
                        : value instanceof long[] longs
                                ? Arrays.toString(longs)
                                : value instanceof int[] ints
                                        ? Arrays.toString(ints)
                                        : String.valueOf(value);
        return text.length() > 40 ? text.substring(0, 40) + "..." : text;
    }

    /**
     * Adds what a type's values are made by; the first is a good one, and null is tried besides.
     *
     * @param type of parameters and receivers
     * @param samples make values
     * @return this
     */
    public Misuse with(Class<?> type, Sample... samples) {
        List<Value> list = new ArrayList<>();
        for (Sample sample : samples) {
            list.add(new Value(type.getSimpleName() + " " + list.size(), sample));
        }
        list.add(1, new Value("null", rank -> null));
        known.put(type, list);
        return this;
    }

    /**
     * Leaves out a package, a class, or methods of one.
     *
     * @param id {@code Class}, {@code Class.method}, {@code Class.*} for what is called on objects
     *     of the class, or a package
     * @param reason why it cannot be covered
     * @return this
     */
    public Misuse without(String id, String reason) {
        reasons.put(id, reason);
        return this;
    }

    private boolean isLeftOut(Executable executable, Set<String> used) {
        String type = name(executable.getDeclaringClass());
        String home = executable.getDeclaringClass().getPackageName();
        List<String> ids =
                new ArrayList<>(List.of(home, type, type + "." + simpleName(executable)));
        if (needsReceiver(executable)) {
            ids.add(type + ".*");
        }
        for (String id : ids) {
            if (reasons.containsKey(id)) {
                used.add(id);
                return true;
            }
        }
        return false;
    }

    private static String name(Class<?> type) {
        return type.getName().substring(type.getPackageName().length() + 1).replace('$', '.');
    }

    private static boolean needsReceiver(Executable executable) {
        return executable instanceof Method && !Modifier.isStatic(executable.getModifiers());
    }

    private static String simpleName(Executable executable) {
        return executable instanceof Constructor<?> ? "new" : executable.getName();
    }

    private static String id(Executable executable) {
        return name(executable.getDeclaringClass()) + "." + simpleName(executable);
    }

    /**
     * All calls to what modules export.
     *
     * @param ofModules one class of each module
     * @return the calls, in the order of classes and methods
     * @throws AssertionError when a class has no receiver to call its methods on, or something is
     *     left out that is not there
     */
    public List<Call> calls(Class<?>... ofModules) {
        return callsTo(
                Arrays.stream(ofModules).flatMap(ofModule -> exported(ofModule).stream()).toList());
    }

    /**
     * All calls to what is public in some classes.
     *
     * @param types the classes
     * @return the calls, in the order of classes and methods
     * @throws AssertionError as {@link #calls} throws it
     */
    public List<Call> callsTo(List<Class<?>> types) {
        Set<String> used = new HashSet<>();
        List<Call> calls = new ArrayList<>();
        for (Class<?> type : types) {
            for (Executable executable : executables(type)) {
                if (!isLeftOut(executable, used)) {
                    addCalls(executable, calls);
                }
            }
        }
        List<String> stale = reasons.keySet().stream().filter(id -> !used.contains(id)).toList();
        if (!withoutReceiver.isEmpty() || !stale.isEmpty()) {
            throw new AssertionError(
                    "tell how a receiver is made, or why not, for "
                            + withoutReceiver
                            + "; left out but not there: "
                            + stale);
        }
        return calls;
    }

    /**
     * Makes all calls to what a module exports, one after the other.
     *
     * @param ofModule a class of it
     * @return what threw something else than an exception of this library
     */
    public List<String> faults(Class<?> ofModule) {
        List<Call> calls = calls(ofModule);
        if (calls.isEmpty()) {
            throw new AssertionError("nothing to call in the module of " + ofModule);
        }
        List<String> faults = new ArrayList<>();
        for (Call call : calls) {
            try {
                call.make(0);
            } catch (AssertionError e) {
                faults.add(e.getMessage());
            }
        }
        return faults;
    }

    private static List<Class<?>> exported(Class<?> ofModule) {
        try {
            Path place =
                    Path.of(ofModule.getProtectionDomain().getCodeSource().getLocation().toURI());
            ModuleReference module = ModuleFinder.of(place).findAll().iterator().next();
            List<String> packages =
                    module.descriptor().exports().stream()
                            .filter(export -> !export.isQualified())
                            .map(export -> export.source())
                            .toList();
            List<Class<?>> types = new ArrayList<>();
            try (ModuleReader reader = module.open();
                    Stream<String> names = reader.list()) {
                for (String name : names.sorted().toList()) {
                    if (name.endsWith(".class") && !name.endsWith("-info.class")) {
                        String type = name.substring(0, name.length() - 6).replace('/', '.');
                        if (packages.contains(type.substring(0, type.lastIndexOf('.')))) {
                            types.add(Class.forName(type, false, ofModule.getClassLoader()));
                        }
                    }
                }
            }
            types.removeIf(type -> !isPublic(type));
            return types;
        } catch (IOException | URISyntaxException | ClassNotFoundException e) {
            throw new AssertionError("the module of " + ofModule + " cannot be read", e);
        }
    }

    private static boolean isPublic(Class<?> type) {
        return type == null
                || Modifier.isPublic(type.getModifiers()) && isPublic(type.getEnclosingClass());
    }

    /** What a binding's class takes from a base that is not its module's own. */
    private static Stream<Method> fromBase(Class<?> type) {
        Class<?> base = type.getSuperclass();
        return base != null && base.getPackage().equals(BackendProvider.class.getPackage())
                ? Arrays.stream(base.getDeclaredMethods())
                : Stream.empty();
    }

    private static List<Executable> executables(Class<?> type) {
        return Stream.<Executable>concat(
                        Arrays.stream(type.getDeclaredConstructors())
                                .filter(each -> !Modifier.isAbstract(type.getModifiers())),
                        Stream.concat(Arrays.stream(type.getDeclaredMethods()), fromBase(type))
                                .filter(each -> !NOT_OURS.contains(each.getName())))
                .filter(each -> Modifier.isPublic(each.getModifiers()) && !each.isSynthetic())
                .sorted(Comparator.comparing(Executable::toGenericString))
                .toList();
    }

    private void addCalls(Executable executable, List<Call> calls) {
        List<Sample> receivers = new ArrayList<>();
        if (!needsReceiver(executable)) {
            receivers.add(null);
        } else {
            values(executable.getDeclaringClass(), 0).stream()
                    .filter(value -> !value.name().equals("null"))
                    .forEach(value -> receivers.add(value.sample()));
            if (receivers.isEmpty()) {
                withoutReceiver.add(id(executable));
            }
        }
        List<List<Value>> choices = new ArrayList<>();
        for (Type parameter : executable.getGenericParameterTypes()) {
            choices.add(values(parameter, 0));
        }
        for (Sample receiver : receivers) {
            for (List<Value> arguments : combinations(choices, id(executable).hashCode())) {
                calls.add(new Call(executable, receiver, arguments));
            }
        }
    }

    /** All good, one bad, and some mixtures, the same ones each time. */
    private static List<List<Value>> combinations(List<List<Value>> choices, int seed) {
        List<Value> good = choices.stream().map(each -> each.get(0)).toList();
        Set<List<Value>> all = new LinkedHashSet<>();
        all.add(good);
        for (int i = 0; i < choices.size(); i++) {
            for (Value value : choices.get(i)) {
                List<Value> oneBad = new ArrayList<>(good);
                oneBad.set(i, value);
                all.add(oneBad);
            }
        }
        Random random = new Random(seed);
        for (int i = 0; choices.size() > 1 && i < MIXED_CALLS; i++) {
            all.add(choices.stream().map(each -> each.get(random.nextInt(each.size()))).toList());
        }
        return List.copyOf(all);
    }

    private List<Value> values(Type type, int depth) {
        if (type instanceof ParameterizedType generic && generic.getRawType() == List.class) {
            return lists(values(generic.getActualTypeArguments()[0], depth));
        }
        if (type instanceof ParameterizedType generic && generic.getRawType() == Optional.class) {
            Value good = values(generic.getActualTypeArguments()[0], depth).get(0);
            return List.of(
                    new Value("Optional.empty", rank -> Optional.empty()),
                    new Value("null", rank -> null),
                    new Value(
                            "Optional of " + good.name(),
                            rank -> Optional.ofNullable(good.sample().make(rank))));
        }
        Class<?> raw = raw(type);
        if (raw == Map.class) {
            return List.of(
                    new Value("{}", rank -> Map.of()),
                    new Value("null", rank -> null),
                    new Value("{x=null}", rank -> Collections.singletonMap("x", null)));
        }
        if (raw == Integer.class) {
            raw = int.class;
        }
        List<Value> values = known.get(raw);
        if (values != null) {
            return values;
        }
        List<Value> made = new ArrayList<>();
        Class<?> wanted = raw;
        make(raw, depth)
                .ifPresent(sample -> made.add(new Value("a " + wanted.getSimpleName(), sample)));
        made.add(new Value("null", rank -> null));
        return made;
    }

    private static Class<?> raw(Type type) {
        return type instanceof Class<?> plain
                ? plain
                : type instanceof ParameterizedType generic
                        ? (Class<?>) generic.getRawType()
                        : Object.class;
    }

    private static List<Value> lists(List<Value> elements) {
        Value good = elements.get(0);
        List<Value> lists = new ArrayList<>();
        lists.add(list("two good", good, good));
        lists.add(new Value("null", rank -> null));
        lists.add(new Value("[]", rank -> List.of()));
        lists.add(list("one good", good));
        lists.add(new Value("[null, null]", rank -> Arrays.asList(null, null)));
        lists.add(
                new Value(
                        "twice the same",
                        rank -> {
                            Object same = good.sample().make(rank);
                            return Arrays.asList(same, same);
                        }));
        for (Value bad : elements.subList(1, elements.size())) {
            lists.add(list("good and " + bad.name(), good, bad));
        }
        return lists;
    }

    private static Value list(String name, Value... elements) {
        return new Value(
                "[" + name + "]",
                rank -> {
                    List<Object> list = new ArrayList<>();
                    for (Value element : elements) {
                        list.add(element.sample().make(rank));
                    }
                    return list;
                });
    }

    /** A value of a type that nothing was told about: a constant, or made with good arguments. */
    private Optional<Sample> make(Class<?> type, int depth) {
        if (type.isEnum()) {
            return Optional.of(rank -> type.getEnumConstants()[0]);
        }
        if (depth == DEEPEST || !type.getName().startsWith("org.jccl.")) {
            return Optional.empty();
        }
        if (!found.containsKey(type)) {
            found.put(type, Optional.empty()); // not again while it is looked for
            found.put(type, search(type, depth));
        }
        return found.get(type);
    }

    private Optional<Sample> search(Class<?> type, int depth) {
        for (Executable executable : executables(type)) {
            boolean makes =
                    executable instanceof Constructor<?>
                            || Modifier.isStatic(executable.getModifiers())
                                    && ((Method) executable).getReturnType() == type;
            if (makes) {
                List<Value> good = new ArrayList<>();
                for (Type parameter : executable.getGenericParameterTypes()) {
                    good.add(values(parameter, depth + 1).get(0));
                }
                Sample sample =
                        rank -> {
                            Object[] arguments = new Object[good.size()];
                            for (int i = 0; i < arguments.length; i++) {
                                arguments[i] = good.get(i).sample().make(rank);
                            }
                            return executable instanceof Constructor<?> constructor
                                    ? constructor.newInstance(arguments)
                                    : ((Method) executable).invoke(null, arguments);
                        };
                if (works(sample)) {
                    return Optional.of(sample);
                }
            }
        }
        return Optional.empty();
    }

    private static boolean works(Sample sample) {
        try {
            return sample.make(0) != null;
        } catch (Exception e) {
            return false;
        }
    }
}
