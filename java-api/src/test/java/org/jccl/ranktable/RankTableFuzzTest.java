package org.jccl.ranktable;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;

/**
 * Any bytes are a table or are explained. An ordinary run tries the examples and whatever fuzzing
 * has found. To look for more: {@code JAZZER_FUZZ=1 mvn -pl java-api test -Dtest=RankTableFuzzTest
 * -Djazzer.hooks=true -Djunit.jupiter.execution.timeout.mode=disabled}.
 */
class RankTableFuzzTest {

    @FuzzTest(maxDuration = "5m")
    void readsOrExplains(byte[] bytes) {
        TableContract.check(new String(bytes, StandardCharsets.UTF_8));
    }
}
