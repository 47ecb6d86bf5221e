package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.jccl.testing.NativeWords;
import org.junit.jupiter.api.Test;

/** What only this binding and its shim say to each other. */
class MpiVocabularyTest {

    @Test
    void families() throws IllegalAccessException {
        List<String> words = new ArrayList<>();
        for (Field field : MpiLibraryNative.class.getDeclaredFields()) {
            if (field.getType() == int.class) {
                assertThat(field.getInt(null)).as(field.getName()).isEqualTo(words.size());
                words.add(field.getName());
            }
        }
        assertThat(words).isEqualTo(NativeWords.of("mpi/library.cc").ofEnum("Family"));
    }
}
