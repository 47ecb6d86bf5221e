package org.jccl.gloo;

import java.nio.file.Path;
import org.jccl.ProcessGroup;
import org.jccl.TlsCredentials;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.conformance.Ranks;
import org.jccl.testing.Certificates;
import org.jccl.testing.Families;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The same with encrypted connections, which carry all operations alike. */
@Families({"gathers", "all-to-all", "messages", "failures"})
@Tag("all")
final class GlooTlsConformanceTest extends ConformanceTest {

    @TempDir private static Path folder;
    private static TlsCredentials shared;

    @BeforeAll
    static void makeCertificate() throws Exception {
        shared = new Certificates(folder).authority("shared").credentials("shared", "shared");
    }

    @Override
    protected ConformanceBackend backend() {
        return (store, rank, size, timeout) ->
                ProcessGroup.builder()
                        .backend("gloo")
                        .tls(shared)
                        .store(store)
                        .rank(rank)
                        .worldSize(size)
                        .joinTimeout(Ranks.TIMEOUT)
                        .timeout(timeout)
                        .build();
    }
}
