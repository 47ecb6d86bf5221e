package org.jccl.ranktable.json;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads JSON as RFC 8259 has it, and nothing more: no comments, no trailing commas, no NaN. A byte
 * order mark at the beginning is skipped. Half a surrogate pair is a fault, since it can not be
 * written to a file.
 */
public final class JsonReader {

    /** The longest text that is read, in characters. */
    public static final int MAX_LENGTH = 16 << 20;

    /** How deep arrays and objects may lie in each other. */
    static final int MAX_DEPTH = 64;

    private static final Pattern NUMBER =
            Pattern.compile("-?(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?(?:[eE][-+]?[0-9]++)?");

    private static final String[] WORDS = {"true", "false", "null"};

    private final String text;
    private final Consumer<JsonFault> faults;
    private int next;
    private int line = 1;
    private int lineStart;

    private JsonReader(String text, Consumer<JsonFault> faults) {
        this.text = text;
        this.faults = faults;
    }

    /**
     * Reads a document.
     *
     * @param text the document
     * @param faults receives every fault. Reading continues after a name that appears twice, whose
     *     first value counts, and ends at any other fault
     * @return the document, or empty if the text is no JSON
     */
    public static Optional<Json> read(String text, Consumer<JsonFault> faults) {
        JsonReader reader = new JsonReader(text, faults);
        try {
            return Optional.of(reader.document());
        } catch (NotJson notJson) {
            faults.accept(notJson.fault);
            return Optional.empty();
        }
    }

    /** Ends the reading. */
    private static final class NotJson extends Exception {

        private static final long serialVersionUID = 1L;

        private final transient JsonFault fault;

        NotJson(JsonFault fault) {
            super(fault.message(), null, false, false);
            this.fault = fault;
        }
    }

    private NotJson wrong(JsonPath path, String message) {
        return new NotJson(new JsonFault(path, here(), message));
    }

    private NotJson unexpected(JsonPath path, String wanted) {
        if (next >= text.length()) {
            return wrong(path, "ends where " + wanted + " should follow");
        }
        String found = JsonPath.abbreviate(Character.toString(text.codePointAt(next)));
        return wrong(path, "has '" + found + "' where " + wanted + " should follow");
    }

    private Json.Position here() {
        return new Json.Position(line, next - lineStart + 1);
    }

    private Json document() throws NotJson {
        if (text.length() > MAX_LENGTH) {
            throw wrong(JsonPath.ROOT, "has more than " + MAX_LENGTH + " characters");
        }
        if (text.startsWith("\uFEFF")) {
            next = 1;
            lineStart = 1;
        }
        Json root = value(JsonPath.ROOT, 0);
        skipSpace();
        if (next < text.length()) {
            throw unexpected(JsonPath.ROOT, "the end");
        }
        return root;
    }

    private Json value(JsonPath path, int depth) throws NotJson {
        skipSpace();
        Json.Position at = here();
        if (next >= text.length()) {
            throw unexpected(path, "a value");
        }
        char c = text.charAt(next);
        if (c == '{' || c == '[') {
            if (depth == MAX_DEPTH) {
                throw wrong(path, "lies more than " + MAX_DEPTH + " levels deep");
            }
            next++;
            return c == '{' ? object(path, at, depth) : array(path, at, depth);
        }
        if (c == '"') {
            return new Json.Text(string(path), at);
        }
        for (String word : WORDS) {
            if (text.startsWith(word, next)) {
                next += word.length();
                return new Json.Word(word, at);
            }
        }
        Matcher number = NUMBER.matcher(text).region(next, text.length());
        if (!number.lookingAt()) {
            throw unexpected(path, "a value");
        }
        next = number.end();
        return new Json.Num(number.group(), at);
    }

    private Json object(JsonPath path, Json.Position at, int depth) throws NotJson {
        Map<String, Json> fields = new LinkedHashMap<>();
        if (accept('}')) {
            return new Json.Obj(fields, at);
        }
        do {
            skipSpace();
            Json.Position nameAt = here();
            if (next >= text.length() || text.charAt(next) != '"') {
                throw unexpected(path, "a name in quotes");
            }
            String name = string(path);
            JsonPath field = path.field(name);
            if (!accept(':')) {
                throw unexpected(field, "':'");
            }
            Json value = value(field, depth + 1);
            Json first = fields.putIfAbsent(name, value);
            if (first != null) {
                String where = "line " + first.at().line() + ", column " + first.at().column();
                faults.accept(new JsonFault(field, nameAt, "appears twice, first at " + where));
            }
        } while (accept(','));
        if (!accept('}')) {
            throw unexpected(path, "',' or '}'");
        }
        return new Json.Obj(fields, at);
    }

    private Json array(JsonPath path, Json.Position at, int depth) throws NotJson {
        List<Json> items = new ArrayList<>();
        if (accept(']')) {
            return new Json.Array(items, at);
        }
        do {
            items.add(value(path.item(items.size()), depth + 1));
        } while (accept(','));
        if (!accept(']')) {
            throw unexpected(path, "',' or ']'");
        }
        return new Json.Array(items, at);
    }

    private String string(JsonPath path) throws NotJson {
        next++;
        StringBuilder value = new StringBuilder();
        while (true) {
            if (next >= text.length()) {
                throw unexpected(path, "the closing quote of a text");
            }
            char c = text.charAt(next);
            if (c == '"') {
                next++;
                return value.toString();
            }
            if (c < ' ') {
                throw wrong(
                        path,
                        String.format("has the control character \\u%04x in a text", (int) c));
            }
            if (c == '\\') {
                c = escape(path);
            } else {
                next++;
            }
            boolean afterHigh =
                    value.length() > 0
                            && Character.isHighSurrogate(value.charAt(value.length() - 1));
            if (Character.isLowSurrogate(c) != afterHigh) {
                throw halfPair(path);
            }
            value.append(c);
            boolean ends = next < text.length() && text.charAt(next) == '"';
            if (ends && Character.isHighSurrogate(c)) {
                throw halfPair(path);
            }
        }
    }

    private NotJson halfPair(JsonPath path) {
        return wrong(path, "has half a surrogate pair in a text");
    }

    /** Reads a backslash and what belongs to it. */
    private char escape(JsonPath path) throws NotJson {
        char kind = next + 1 < text.length() ? text.charAt(next + 1) : ' ';
        int simple = "\"\\/bfnrt".indexOf(kind);
        if (simple >= 0) {
            next += 2;
            return "\"\\/\b\f\n\r\t".charAt(simple);
        }
        int end = next + 6;
        if (kind == 'u' && end <= text.length()) {
            int code = 0;
            for (int i = next + 2; i < end; i++) {
                int digit = text.charAt(i) < 0x80 ? Character.digit(text.charAt(i), 16) : -1;
                if (digit < 0) {
                    throw wrong(path, "has an escape in a text that JSON does not know");
                }
                code = code * 16 + digit;
            }
            next = end;
            return (char) code;
        }
        throw wrong(path, "has an escape in a text that JSON does not know");
    }

    private boolean accept(char wanted) {
        skipSpace();
        if (next < text.length() && text.charAt(next) == wanted) {
            next++;
            return true;
        }
        return false;
    }

    private void skipSpace() {
        while (next < text.length()) {
            char c = text.charAt(next);
            if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
                return;
            }
            next++;
            if (c == '\n') {
                line++;
                lineStart = next;
            }
        }
    }
}
