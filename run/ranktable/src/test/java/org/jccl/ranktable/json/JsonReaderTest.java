package org.jccl.ranktable.json;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JsonReaderTest {

    private final List<JsonFault> faults = new ArrayList<>();

    private Json read(String text) {
        Optional<Json> json = JsonReader.read(text, faults::add);
        assertThat(faults).isEmpty();
        return json.orElseThrow();
    }

    private JsonFault refuse(String text) {
        faults.clear();
        assertThat(JsonReader.read(text, faults::add)).as("of %s", text).isEmpty();
        assertThat(faults).hasSize(1);
        return faults.get(0);
    }

    private static String text(Json json) {
        return ((Json.Text) json).value();
    }

    @Test
    void valuesOfEachKind() {
        Json.Obj json =
                (Json.Obj) read("\r\n {\"a\" : [1, \"x\"] ,\t\"b\":{}, \"c\":true,\"d\":null} \n");
        assertThat(json.fields()).containsOnlyKeys("a", "b", "c", "d");
        Json.Array array = (Json.Array) json.fields().get("a");
        assertThat(((Json.Num) array.items().get(0)).literal()).isEqualTo("1");
        assertThat(text(array.items().get(1))).isEqualTo("x");
        assertThat(((Json.Obj) json.fields().get("b")).fields()).isEmpty();
        assertThat(((Json.Word) json.fields().get("c")).name()).isEqualTo("true");
        assertThat(((Json.Word) json.fields().get("d")).name()).isEqualTo("null");
    }

    @Test
    void valuesKnowWhereTheyAre() {
        Json.Obj json = (Json.Obj) read("{\n  \"a\": [1,\n 22]\n}");
        assertThat(json.at()).isEqualTo(new Json.Position(1, 1));
        Json.Array array = (Json.Array) json.fields().get("a");
        assertThat(array.at()).isEqualTo(new Json.Position(2, 8));
        assertThat(array.items().get(1).at()).isEqualTo(new Json.Position(3, 2));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "-0", "12", "-7", "0.5", "1e9", "1E+9", "-1.25e-3"})
    void numbersStayAsTheyAreWritten(String number) {
        assertThat(((Json.Num) read(number)).literal()).isEqualTo(number);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "01",
                "+1",
                ".5",
                "1.",
                "1e",
                "- 1",
                "--1",
                "0x1",
                "NaN",
                "Infinity",
                "１",
                "1_0"
            })
    void whatLooksLikeANumberIsRefused(String number) {
        refuse(number);
    }

    @Test
    void escapes() {
        assertThat(text(read("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00E9\\u4e2d\"")))
                .isEqualTo("\"\\/\b\f\n\r\t\u00e9\u4e2d");
        assertThat(refuse("\"\\x41\"").message()).contains("character escape 'x'");
        assertThat(refuse("\"\\u12g4\"").message()).contains("hex-digit for character escape");
        assertThat(refuse("\"\\u123").message()).contains("character escape sequence");
        assertThat(refuse("\"\\").message()).contains("character escape sequence");
    }

    @Test
    void surrogatesComeInPairs() {
        String smile = "\ud83d\ude00";
        assertThat(text(read('"' + smile + '"'))).isEqualTo(smile);
        assertThat(text(read("\"\\ud83d\\ude00\""))).isEqualTo(smile);
        assertThat(text(read("\"\\ud83d" + smile.charAt(1) + '"'))).isEqualTo(smile);
        for (String half :
                List.of(
                        "\\ud83d",
                        "\\ude00",
                        "\ud83d",
                        "\ude00",
                        "\\ud83dx",
                        "\\ud83d\\ud83d",
                        "\\ude00\\ud83d",
                        "\ud83d\\n")) {
            assertThat(refuse('"' + half + '"').message()).contains("half a surrogate pair");
        }
    }

    @Test
    void aByteOrderMarkAtTheBeginningIsSkipped() {
        assertThat(read("\uFEFF7").at()).isEqualTo(new Json.Position(1, 1));
        refuse("\uFEFF\uFEFF7");
        refuse("[\uFEFF]");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "``            | $        | 1 | 1  | the document is empty",
                "{             | $        | 1 | 2  | expected close marker for Object (start marker at line 1, column 1)",
                "{a:1}         | $        | 1 | 2  | was expecting double-quote to start",
                "{\"a\" 1}     | $        | 1 | 6  | was expecting a colon",
                "{\"a\":1,}    | $        | 1 | 8  | Unexpected character ('}'",
                "{\"a\":1      | $        | 1 | 7  | expected close marker for Object (start marker at line 1, column 1)",
                "{\"a\":[1,]}  | $.a[1]   | 1 | 9  | expected a valid value",
                "{\"a\":[1 2]} | $.a[1]   | 1 | 9  | was expecting comma to separate Array entries",
                "[[0],[1,x]]   | $[1][1]  | 1 | 9  | Unrecognized token 'x'",
                "{} //         | $        | 1 | 4  | Unexpected character ('/'",
                "\"ab          | $        | 1 | 4  | closing quote",
                "[tru]         | $[0]     | 1 | 2  | Unrecognized token 'tru'",
                "['a']         | $[0]     | 1 | 2  | Unexpected character (''",
            })
    void saysWhereItIsWrong(String text, String path, int line, int column, String message) {
        JsonFault fault = refuse(text);
        assertThat(fault.path()).hasToString(path);
        assertThat(fault.message()).startsWith("is not JSON: ").contains(message);
        assertThat(fault.at()).isEqualTo(new Json.Position(line, column));
    }

    @Test
    void countsLines() {
        assertThat(refuse("{\n\"a\":\n\n   ?}").at()).isEqualTo(new Json.Position(4, 4));
    }

    @Test
    void aTextHasNoLineBreak() {
        assertThat(refuse("\"a\nb\"").message())
                .contains("Illegal unquoted character ((CTRL-CHAR, code 10))");
    }

    @Test
    void namesThatAppearTwiceAreAllReported() {
        Optional<Json> json =
                JsonReader.read("{\"a\":1,\n\"b\":{\"c\":1,\"c\":2},\"a\":3}", faults::add);
        assertThat(faults)
                .extracting(fault -> fault.path() + " " + fault.message())
                .containsExactly(
                        "$.b.c appears twice, first at line 2, column 10",
                        "$.a appears twice, first at line 1, column 6");
        assertThat(faults.get(1).at()).isEqualTo(new Json.Position(2, 19));
        Json first = ((Json.Obj) json.orElseThrow()).fields().get("a");
        assertThat(((Json.Num) first).literal()).as("the first is kept").isEqualTo("1");
    }

    @Test
    void depthIsLimited() {
        int most = JsonReader.MAX_DEPTH;
        read("[".repeat(most) + "]".repeat(most));
        assertThat(refuse("[".repeat(most + 1) + "]".repeat(most + 1)).message())
                .contains("more than 64 levels");
        refuse("[".repeat(1_000_000));
        refuse("{\"a\":".repeat(1_000_000));
    }

    @Test
    void lengthIsLimited() {
        String space = " ".repeat(JsonReader.MAX_LENGTH);
        read("7" + space.substring(1));
        assertThat(refuse("7" + space).message()).contains("more than 16777216 characters");
    }

    @Test
    void longAndStrangeNamesAreShortInPaths() {
        JsonPath path = JsonPath.ROOT.field("a b").field("x".repeat(1000)).field("\n").item(3);
        assertThat(path).hasToString("$['a b']['" + "x".repeat(60) + "...']['?'][3]");
        assertThat(new Json.Text("\u0000\ud83d").describe()).isEqualTo("\"??\"");
    }

    @Test
    void isWrittenAsPythonWritesIt() {
        String python =
                """
                {
                    "a":[
                        1,
                        "\\u00e9\\ud83d\\ude00\\u0001\\n\\"\\\\/\u007f"
                    ],
                    "b":{},
                    "c":[],
                    "d":true
                }""";
        assertThat(JsonWriter.write(read(python))).isEqualTo(python);
    }
}
