package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.NativeLibrary;
import java.nio.file.Path;
import java.util.Map;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * CANN's trace library replaces signal handlers that the JVM lives by, unless it is told not to.
 */
@Tag("all")
final class SignalTest {

    /** Has the JVM meet null pointers in compiled code, where it relies on SIGSEGV. */
    static final class NullPointers {

        private NullPointers() {}

        public static void main(String[] arguments) {
            System.out.println(new HcclProvider().availability());
            long sum = 0;
            // Compiled for texts only, a null faults.
            for (int i = 0; i < 1_000_000; i++) {
                sum += length("text");
            }
            System.gc();
            try {
                System.out.println(sum + length(null));
            } catch (NullPointerException e) {
                System.out.println("caught");
            }
        }

        private static int length(String text) {
            return text.length();
        }
    }

    /** Loads the trace library before CANN is asked for. */
    static final class LoadedBefore {

        private LoadedBefore() {}

        public static void main(String[] arguments) {
            Path mocks = Path.of(System.getProperty(HcclLibrary.ACL.property)).getParent();
            NativeLibrary.getInstance(mocks.resolve("libascend_trace.so").toString());
            System.out.println(new HcclProvider().availability());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "None", "none"})
    void handlersStayTheJvmsWhateverTheVariableWas(String given) throws Exception {
        String output =
                ChildJvm.outputOf(NullPointers.class, Map.of(HcclLibraries.SIGNAL_VARIABLE, given));
        assertThat(output).contains("Available[version").contains("caught");
        assertThat(output.contains("would let CANN replace")).isEqualTo(!given.equals("none"));
    }

    @Test
    void libraryThatWasLoadedBeforeIsRefused() throws Exception {
        assertThat(ChildJvm.outputOf(LoadedBefore.class, Map.of()))
                .contains("Unavailable[")
                .contains("start Java with ASCEND_COREDUMP_SIGNAL=none");
        assertThat(
                        ChildJvm.outputOf(
                                LoadedBefore.class, Map.of(HcclLibraries.SIGNAL_VARIABLE, "none")))
                .contains("Available[version");
    }
}
