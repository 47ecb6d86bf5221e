package org.jccl.hccl;

import com.sun.jna.Callback;
import com.sun.jna.CallbackReference;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.SymbolProvider;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The functions of libraries that belong together. CANN moves functions between files from version
 * to version, and older versions lack some. Each name is looked up in all files. A name that is in
 * no file is bound to a function that returns a code, or no address.
 */
final class Symbols {

    /** Takes the place of a missing function, and ignores its arguments. */
    @FunctionalInterface
    interface Missing extends Callback {
        /** Called instead of the missing function. */
        int call();
    }

    /** The same for functions that return an address: there is none. */
    @FunctionalInterface
    interface MissingAddress extends Callback {
        /** Called instead of the missing function. */
        long call();
    }

    private final List<NativeLibrary> libraries = new ArrayList<>();

    /** Retained, because native code has its address. */
    private final Missing missing;

    private final MissingAddress missingAddress = () -> 0;

    /**
     * Creates a collection without libraries.
     *
     * @param answer the code that missing functions return
     */
    Symbols(int answer) {
        this.missing = () -> answer;
    }

    /**
     * Opens a library.
     *
     * @param file absolute path
     * @throws LinkageError if it cannot be opened
     */
    void open(Path file) {
        libraries.add(NativeLibrary.getInstance(file.toString()));
    }

    /** The first library's file. */
    Path path() {
        return libraries.get(0).getFile().toPath();
    }

    /** Returns whether one of the libraries has a function. */
    boolean has(String function) {
        return address(function) != 0;
    }

    private long address(String function) {
        for (NativeLibrary library : libraries) {
            try {
                return Pointer.nativeValue(library.getGlobalVariableAddress(function));
            } catch (UnsatisfiedLinkError e) {
                // The next library may have it; has() returns false if none does.
                continue;
            }
        }
        return 0;
    }

    /** Binds the native methods of a class. Those that return a {@code long} return addresses. */
    void bind(Class<?> functions) {
        Set<String> addresses =
                Arrays.stream(functions.getDeclaredMethods())
                        .filter(method -> method.getReturnType() == long.class)
                        .map(Method::getName)
                        .collect(Collectors.toSet());
        SymbolProvider provider =
                (handle, name, parent) -> {
                    long address = address(name);
                    Callback instead = addresses.contains(name) ? missingAddress : missing;
                    return address != 0
                            ? address
                            : Pointer.nativeValue(CallbackReference.getFunctionPointer(instead));
                };
        Native.register(
                functions,
                NativeLibrary.getInstance(
                        libraries.get(0).getFile().getPath(),
                        Map.of(Library.OPTION_SYMBOL_PROVIDER, provider)));
    }
}
