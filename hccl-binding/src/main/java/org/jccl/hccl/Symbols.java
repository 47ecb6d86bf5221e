package org.jccl.hccl;

import com.sun.jna.Callback;
import com.sun.jna.CallbackReference;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.SymbolProvider;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The functions of libraries that belong together. CANN moves functions from one file to another
 * between its versions, and older ones lack some: each name is looked up in all files, and what is
 * in none is bound to a function that answers a code for it.
 */
final class Symbols {

    /** What a missing function answers; its arguments are for nobody. */
    @FunctionalInterface
    interface Missing extends Callback {
        /** Called instead. */
        int call();
    }

    private final List<NativeLibrary> libraries = new ArrayList<>();

    /** Held, because native code has its address. */
    private final Missing missing;

    /**
     * Starts without libraries.
     *
     * @param answer of functions that are in none of them
     */
    Symbols(int answer) {
        this.missing = () -> answer;
    }

    /**
     * Opens a library.
     *
     * @param file absolute path
     * @throws LinkageError when it can not be
     */
    void open(Path file) {
        libraries.add(NativeLibrary.getInstance(file.toString()));
    }

    /** The first library's file. */
    Path path() {
        return libraries.get(0).getFile().toPath();
    }

    /** Whether one of the libraries has a function. */
    boolean has(String function) {
        return address(function) != 0;
    }

    private long address(String function) {
        for (NativeLibrary library : libraries) {
            try {
                return Pointer.nativeValue(library.getGlobalVariableAddress(function));
            } catch (UnsatisfiedLinkError e) {
                // The next one may have it; has() tells when none does.
                continue;
            }
        }
        return 0;
    }

    /** Binds the native methods of a class. */
    void bind(Class<?> functions) {
        SymbolProvider provider =
                (handle, name, parent) -> {
                    long address = address(name);
                    return address != 0
                            ? address
                            : Pointer.nativeValue(CallbackReference.getFunctionPointer(missing));
                };
        Native.register(
                functions,
                NativeLibrary.getInstance(
                        libraries.get(0).getFile().getPath(),
                        Map.of(Library.OPTION_SYMBOL_PROVIDER, provider)));
    }
}
