package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.SoftAssertions;
import org.jccl.DataType;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Headers are read or refused as by Python's safetensors, with these exceptions. */
final class SafetensorsReferenceTest {

    private static final String X =
            "\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}";

    /** A header, and how many bytes of data follow it. */
    private record Header(String text, int dataBytes) {

        Path write(Path file) throws IOException {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            ByteBuffer all = ByteBuffer.allocate(Long.BYTES + bytes.length + dataBytes);
            all.order(ByteOrder.LITTLE_ENDIAN).putLong(bytes.length).put(bytes);
            return Files.write(file, all.array());
        }
    }

    private static final List<Header> READ =
            List.of(
                    new Header("{" + X + "}", 4),
                    new Header("{}", 0),
                    new Header(" {}", 0),
                    new Header("\n{}", 0),
                    new Header("{} ", 0),
                    new Header("{}\t\r\n", 0),
                    new Header("{\"__metadata__\":null," + X + "}", 4),
                    new Header("{\"__metadata__\":{}," + X + "}", 4),
                    new Header("{\"__metadata__\":{\"a\":\"b\"}," + X + "}", 4),
                    new Header("{\"__metadata__\":{\"\":\"\"}," + X + "}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":\"hi\"}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":1}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":-1.5e3}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":null}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":true}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":[1,[2,{\"a\":[]}]]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":{\"a\":{\"b\":1}}}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":"
                                    + "[".repeat(100)
                                    + "]".repeat(100)
                                    + "}}",
                            4),
                    new Header(
                            "{\"x\":{\"note\":1,\"note\":2,\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1"
                                    + ",1".repeat(63)
                                    + "],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1"
                                    + ",1".repeat(64)
                                    + "],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1"
                                    + ",1".repeat(199)
                                    + "],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[ 1 ],\"data_offsets\":[0,4]}}",
                            4),
                    new Header("{" + X + "}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]},\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{"
                                    + X
                                    + ",\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
                            8),
                    new Header(
                            "{\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},"
                                    + X
                                    + "}",
                            8),
                    new Header(
                            "{\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"\\ud83d\\ude00\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"a/b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"a\\/b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\" : { \"dtype\" : \"F32\" , \"shape\" : [ 1 ] , \"data_offsets\" : [ 0 , 4 ] } }",
                            4),
                    new Header("{\"\\u005f_metadata__\":null," + X + "}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"U16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"U32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8),
                    new Header(
                            "{\"x\":{\"dtype\":\"U64\",\"shape\":[2],\"data_offsets\":[0,16]}}",
                            16),
                    new Header(
                            "{\"x\":{\"dtype\":\"C64\",\"shape\":[2],\"data_offsets\":[0,16]}}",
                            16),
                    new Header(
                            "{\"x\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                            2),
                    new Header(
                            "{\"x\":{\"dtype\":\"F8_E4M3FNUZ\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                            2),
                    new Header(
                            "{\"x\":{\"dtype\":\"F8_E5M2FNUZ\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                            2),
                    new Header(
                            "{\"x\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                            2),
                    new Header(
                            "{\"x\":{\"dtype\":\"F8_E5M2\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                            2),
                    new Header(
                            "{\"x\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1),
                    new Header(
                            "{\"x\":{\"dtype\":\"F4\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0),
                    new Header(
                            "{\"x\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}",
                            3),
                    new Header(
                            "{\"x\":{\"dtype\":\"F6_E3M2\",\"shape\":[4],\"data_offsets\":[0,3]}}",
                            3),
                    new Header(
                            "{\"x\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3),
                    new Header(
                            "{\"x\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3),
                    new Header(
                            "{\"x\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3),
                    new Header(
                            "{\"x\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[0,2]}}", 2),
                    new Header(
                            "{\"x\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}", 2),
                    new Header(
                            "{\"x\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]}}", 2),
                    new Header(
                            "{\"x\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8),
                    new Header(
                            "{\"x\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8));

    private static final List<Header> REFUSED =
            List.of(
                    new Header("{}", 4),
                    new Header("", 0),
                    new Header("{", 0),
                    new Header("[]", 0),
                    new Header("null", 0),
                    new Header("{}\0\0", 0),
                    new Header("{" + X + "}\0\0", 4),
                    new Header("{" + X + "}x", 4),
                    new Header("\ufeff{}", 0),
                    new Header("{\"__metadata__\":{\"a\":1}," + X + "}", 4),
                    new Header("{\"__metadata__\":{\"a\":null}," + X + "}", 4),
                    new Header("{\"__metadata__\":[]," + X + "}", 4),
                    new Header("{\"__metadata__\":\"\"," + X + "}", 4),
                    new Header("{\"__metadata__\":{\"a\":{\"b\":\"c\"}}," + X + "}", 4),
                    new Header("{\"__metadata__\":{},\"__metadata__\":{}," + X + "}", 4),
                    new Header("{\"__metadata__\":null,\"__metadata__\":{}," + X + "}", 4),
                    new Header(
                            "{"
                                    + X
                                    + ",\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
                            8),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":[1,]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":{a:1}}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":'a'}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":01}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":1.}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":.5}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":+1}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":nul}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":NaN}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":1e999}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":\"\\u12\"}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":\"\\ud800\"}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":\"\\x\"}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":\"\t\"}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"note\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                                    + "[".repeat(100)
                                    + "]".repeat(100)
                                    + "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"data_offsets\":[0,4]}}",
                            4),
                    new Header("{\"x\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header("{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4),
                    new Header("{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4),
                    new Header("{\"x\":null}", 4),
                    new Header("{\"x\":[]}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F128\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header("{\"x\":{\"dtype\":\"\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header("{\"x\":{\"dtype\":null,\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header("{\"x\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32 \",\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[-1,-1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1e0],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[\"1\"],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[null],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":null,\"data_offsets\":[0,4]}}", 4),
                    new Header("{\"x\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[01],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[-0],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[18446744073709551616],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[0,18446744073709551615],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[9223372036854775807,0],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1,],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,3]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,5]}}", 4),
                    new Header("{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4),
                    new Header("{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0.0,4.0]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[\"0\",\"4\"]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":null}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":{\"start\":0,\"end\":4}}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,18446744073709551615]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[18446744073709551612,18446744073709551615]}}",
                            4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]}}", 4),
                    new Header("{" + X + "}", 3),
                    new Header("{" + X + "}", 5),
                    new Header("{" + X + "}", 0),
                    new Header(
                            "{\"x\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}}", 0),
                    new Header(
                            "{"
                                    + X
                                    + ",\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{"
                                    + X
                                    + ",\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
                            12),
                    new Header(
                            "{"
                                    + X
                                    + ",\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]}}",
                            6),
                    new Header(
                            "{\"\\ud83d\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header(
                            "{\"a\nb\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4),
                    new Header("{" + X + ",}", 4),
                    new Header("{," + X + "}", 4),
                    new Header(
                            "{"
                                    + X
                                    + " \"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
                            8),
                    new Header("{" + X + ",\"z\":1}", 4),
                    new Header("{" + X + "/* */}", 4),
                    new Header("{x:1}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2),
                    new Header(
                            "{\"x\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1),
                    new Header(
                            "{\"x\":{\"dtype\":\"F6_E2M3\",\"shape\":[3],\"data_offsets\":[0,3]}}",
                            3),
                    new Header(
                            "{\"x\":{\"dtype\":\"F6_E2M3\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                            2),
                    new Header(
                            "{\"x\":{\"dtype\":\"C128\",\"shape\":[1],\"data_offsets\":[0,16]}}",
                            16),
                    new Header(
                            "{\"x\":{\"dtype\":\"I4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1),
                    new Header(
                            "{\"x\":{\"dtype\":\"U4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1),
                    new Header(
                            "{\"x\":{\"dtype\":\"C32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":\"F4_E2M1\",\"shape\":[2],\"data_offsets\":[0,1]}}",
                            1),
                    new Header(
                            "{\"x\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,3]}}", 3));

    /** Two readers could see different content, or no program writes them. */
    private static final List<Header> READ_BY_THE_REFERENCE_ONLY =
            List.of(
                    new Header("{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}," + X + "}", 4),
                    new Header("{" + X + "," + X + "}", 4),
                    new Header(
                            "{"
                                    + X
                                    + ",\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
                            8),
                    new Header("{\"x\":[\"F32\",[1],[0,4]]}", 4),
                    new Header(
                            "{\"x\":{\"dtype\":{\"F32\":null},\"shape\":[1],\"data_offsets\":[0,4]}}",
                            4));

    @TempDir private Path directory;

    private static boolean opens(Path file) {
        try {
            SafetensorsFile.open(file);
            return true;
        } catch (CheckpointException e) {
            return false;
        }
    }

    @Test
    void decidesAsTheReference() throws IOException {
        SoftAssertions all = new SoftAssertions();
        Path file = directory.resolve("f.safetensors");
        for (Header header : READ) {
            all.assertThat(opens(header.write(file))).as("read: " + header).isTrue();
        }
        for (Header header : REFUSED) {
            all.assertThat(opens(header.write(file))).as("refused: " + header).isFalse();
        }
        for (Header header : READ_BY_THE_REFERENCE_ONLY) {
            all.assertThat(opens(header.write(file))).as("refused: " + header).isFalse();
        }
        all.assertAll();
    }

    @Test
    void theReferenceDecidesSo() throws Exception {
        List<Header> headers = new ArrayList<>(READ);
        headers.addAll(READ_BY_THE_REFERENCE_ONLY);
        headers.addAll(REFUSED);
        for (int i = 0; i < headers.size(); i++) {
            headers.get(i).write(directory.resolve("h" + i));
        }
        List<String> lines = decisions(headers.size());
        SoftAssertions all = new SoftAssertions();
        for (int i = 0; i < headers.size(); i++) {
            all.assertThat(lines.get(i))
                    .as(headers.get(i).toString())
                    .isEqualTo(i < headers.size() - REFUSED.size() ? "read" : "refused");
        }
        all.assertAll();
    }

    private List<String> decisions(int count) throws Exception {
        String script =
                """
                import sys
                try:
                    from safetensors import safe_open
                    import numpy
                except ImportError:
                    print("missing")
                    sys.exit()
                for i in range(int(sys.argv[1])):
                    try:
                        with safe_open("h%d" % i, "numpy") as f:
                            f.keys()
                        print("read")
                    except Exception as e:
                        print("refused")
                """;
        Path output = directory.resolve("output");
        Process process;
        try {
            process =
                    new ProcessBuilder(
                                    System.getenv().getOrDefault("JCCL_PEER_PYTHON", "python3"),
                                    "-c",
                                    script,
                                    Integer.toString(count))
                            .directory(directory.toFile())
                            .redirectErrorStream(true)
                            .redirectOutput(output.toFile())
                            .start();
        } catch (IOException e) {
            assumeTrue(false, "there is no Python");
            throw e;
        }
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("Python is not done in time");
        }
        List<String> lines = Files.readAllLines(output);
        assumeTrue(
                !lines.contains("missing"),
                "Python's safetensors is not installed: script/bootstrap --with-peers");
        assertThat(lines).hasSize(count);
        return lines;
    }

    /** As the float32 scales beside packed weights of other programs. */
    @Test
    void aTypeThatIsMissingHidesNoOtherTensor() throws IOException {
        for (String[] type :
                new String[][] {
                    {"U16", "2"},
                    {"U32", "4"},
                    {"U64", "8"},
                    {"C64", "8"},
                    {"F8_E8M0", "1"},
                    {"F8_E4M3FNUZ", "1"},
                    {"F8_E5M2FNUZ", "1"}
                }) {
            int bytes = 2 * Integer.parseInt(type[1]);
            hidesNothing(type[0], 2, bytes);
        }
        hidesNothing("F4", 6, 3);
        hidesNothing("F6_E2M3", 4, 3);
        hidesNothing("F6_E3M2", 8, 6);
    }

    private void hidesNothing(String type, int elements, int bytes) throws IOException {
        Path path =
                new Header(
                                "{\"packed\":{\"dtype\":\"%s\",\"shape\":[%d],\"data_offsets\":[0,%d]},\"s\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[%d,%d]}}"
                                        .formatted(type, elements, bytes, bytes, bytes + 3),
                                bytes + 3)
                        .write(directory.resolve("types.safetensors"));
        byte[] all = Files.readAllBytes(path);
        all[all.length - 1] = 7;
        Files.write(path, all);
        SafetensorsFile file = SafetensorsFile.open(path);
        assertThat(file.names()).containsExactly("packed", "s");
        assertThat(file.typeName("packed")).isEqualTo(type);
        assertThat(file.shape("packed")).containsExactly((long) elements);
        try (Tensor target = Tensor.allocate(org.jccl.Device.CPU, DataType.UINT8, 3)) {
            file.read("s", 0, target);
            assertThat(target.copyTo(new byte[3])).containsExactly(0, 0, 7);
            assertThatThrownBy(() -> file.read("packed", 0, target))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("tensor 'packed'")
                    .hasMessageContaining("has the type " + type + ", which JCCL does not support")
                    .hasMessageContaining("BF16, BOOL, F16");
        }
        assertThatThrownBy(() -> file.dataType("packed"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(type);
    }

    private void refused(byte[] bytes, String words) throws IOException {
        Path path = Files.write(directory.resolve("other"), bytes);
        assertThatThrownBy(() -> SafetensorsFile.open(path))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(words);
    }

    @Test
    void saysWhatOtherFilesAre() throws IOException {
        assertThatThrownBy(() -> SafetensorsFile.open(directory))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(directory + " cannot be read: it is a folder");
        assertThatThrownBy(() -> SafetensorsFile.open(directory.resolve("none")))
                .isInstanceOf(CheckpointException.class)
                .hasMessageEndingWith("none does not exist");
        refused(new byte[] {1}, "it has only 1 byte: it is truncated");
        refused(new byte[9], "its header would have 0 bytes, expected 2 to 100000000");
        byte[] large = new byte[16];
        large[0] = 5;
        large[7] = (byte) 0x80;
        refused(large, "its header would have 9223372036854775813 bytes");
        refused(
                "<html>404 not found".getBytes(StandardCharsets.UTF_8),
                "is not a safetensors file");
        refused(
                "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
                        .getBytes(StandardCharsets.UTF_8),
                "git lfs pull");
        refused(new byte[] {2, 0, 0, 0, 0, 0, 0, 0, -1, -1}, "not UTF-8");
    }

    /** The format's limit is 100 MB. */
    @Test
    void readsLongHeaders() throws IOException {
        Header header = new Header("{" + X + "}" + " ".repeat(20 << 20), 4);
        Path path = header.write(directory.resolve("long.safetensors"));
        assertThat(SafetensorsFile.open(path).names()).containsExactly("x");
    }
}
