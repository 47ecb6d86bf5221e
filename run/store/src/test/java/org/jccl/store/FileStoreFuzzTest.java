package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;

/**
 * Any file is read as far as its records are whole, the same at once and while it grows, and
 * writing what was read gives it again.
 */
class FileStoreFuzzTest {

    @TempDir private static Path folder;

    @FuzzTest
    void readsWhatIsWhole(byte[] bytes) throws IOException {
        Path file = folder.resolve("store");
        Files.write(file, bytes);
        Path again = folder.resolve("again");
        Files.write(again, new byte[0]);
        try (FileLog log = new FileLog(file);
                FileLog growing = new FileLog(file);
                FileLog written = new FileLog(again);
                FileLog reread = new FileLog(again)) {
            log.refresh();
            Map<String, String> content = content(log);

            for (int length : new int[] {bytes.length / 3, bytes.length / 2, bytes.length}) {
                Files.write(file, Arrays.copyOf(bytes, length));
                growing.refresh();
            }
            assertThat(content(growing)).isEqualTo(content);

            boolean whole = isWhole(file);
            for (String key : log.keys().keys()) {
                written.keys().set(key, log.keys().get(key));
                written.writeSet(key);
            }
            reread.refreshUnderLock();
            assertThat(content(reread)).isEqualTo(content);
            if (whole) {
                assertThat(content(written)).isEqualTo(content);
            }
        }
    }

    private static boolean isWhole(Path file) {
        try (FileLog log = new FileLog(file)) {
            log.refreshUnderLock();
            return true;
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("truncated");
            return false;
        }
    }

    private static Map<String, String> content(FileLog log) {
        return log.keys().keys().stream()
                .collect(
                        Collectors.toMap(
                                key -> key,
                                key -> Arrays.toString(log.keys().get(key)),
                                (a, b) -> a,
                                TreeMap::new));
    }
}
