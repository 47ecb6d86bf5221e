package org.jccl.ranktable;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;

/** Any bytes are a table or are explained. */
class RankTableFuzzTest {

    @FuzzTest
    void readsOrExplains(byte[] bytes) {
        TableContract.check(new String(bytes, StandardCharsets.UTF_8));
    }
}
