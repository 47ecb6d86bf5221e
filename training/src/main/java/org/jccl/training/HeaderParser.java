package org.jccl.training;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.training.SafetensorsHeader.Fault;

/**
 * Parser of the subset of JSON in safetensors headers: objects, texts and counts. Reads other
 * values only to skip them.
 */
final class HeaderParser {

    private static final int HEXADECIMAL = 16;

    /** The maximum nesting of the reference parser. */
    private static final int MAX_DEPTH = 127;

    private static final Pattern NUMBER =
            Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");

    private final String text;
    private int next;
    private int depth;

    HeaderParser(byte[] header) throws Fault {
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(header)).toString();
        } catch (CharacterCodingException e) {
            throw new Fault("its header is not UTF-8");
        }
    }

    /** Reads the value of a field. */
    interface Field {
        void read(String name) throws Fault;
    }

    void object(Field field) throws Fault {
        expect('{');
        enter();
        if (!accept('}')) {
            do {
                String name = string();
                expect(':');
                field.read(name);
            } while (accept(','));
            expect('}');
        }
        depth--;
    }

    private void enter() throws Fault {
        if (++depth > MAX_DEPTH) {
            throw new Fault("its header is nested more than " + MAX_DEPTH + " deep");
        }
    }

    /** Reads a null if it is the next value. */
    boolean acceptNull() {
        skipSpace();
        return acceptWord("null");
    }

    private boolean acceptWord(String word) {
        if (text.startsWith(word, next)) {
            next += word.length();
            return true;
        }
        return false;
    }

    /** Reads a value of any kind. */
    void skipValue() throws Fault {
        skipSpace();
        char first = next < text.length() ? text.charAt(next) : 0;
        if (first == '{') {
            object(name -> skipValue());
        } else if (first == '[') {
            skipArray();
        } else if (first == '"') {
            string();
        } else if (!acceptWord("null") && !acceptWord("true") && !acceptWord("false")) {
            skipNumber();
        }
    }

    private void skipArray() throws Fault {
        expect('[');
        enter();
        if (!accept(']')) {
            do {
                skipValue();
            } while (accept(','));
            expect(']');
        }
        depth--;
    }

    private void skipNumber() throws Fault {
        Matcher number = NUMBER.matcher(text).region(next, text.length());
        if (!number.lookingAt() || Double.isInfinite(Double.parseDouble(number.group()))) {
            throw fault("a value");
        }
        next = number.end();
    }

    List<Long> numbers() throws Fault {
        List<Long> numbers = new ArrayList<>();
        expect('[');
        if (accept(']')) {
            return numbers;
        }
        do {
            numbers.add(number());
        } while (accept(','));
        expect(']');
        return List.copyOf(numbers);
    }

    private long number() throws Fault {
        skipSpace();
        int start = next;
        while (next < text.length() && text.charAt(next) >= '0' && text.charAt(next) <= '9') {
            next++;
        }
        String digits = text.substring(start, next);
        boolean goesOn = next < text.length() && ".eE".indexOf(text.charAt(next)) >= 0;
        if (digits.isEmpty() || goesOn || digits.length() > 1 && digits.charAt(0) == '0') {
            throw fault("a whole number of 0 or more");
        }
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException e) {
            throw new Fault("its header has the number " + digits + ", which is too large");
        }
    }

    String string() throws Fault {
        expect('"');
        StringBuilder value = new StringBuilder();
        while (true) {
            char c = take();
            if (c == '"') {
                break;
            }
            if (c < ' ') {
                throw new Fault("its header has a control character in a text");
            }
            value.append(c == '\\' ? escaped() : c);
        }
        String result = value.toString();
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(result)) {
            throw new Fault("its header has half of a surrogate pair");
        }
        return result;
    }

    private char escaped() throws Fault {
        char c = take();
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                int code = 0;
                for (int i = 0; i < 4; i++) {
                    char digit = take();
                    int value = digit < 0x80 ? Character.digit(digit, HEXADECIMAL) : -1;
                    if (value < 0) {
                        throw fault("four hexadecimal digits");
                    }
                    code = code * HEXADECIMAL + value;
                }
                yield (char) code;
            }
            default -> throw fault("an escape");
        };
    }

    private char take() throws Fault {
        if (next >= text.length()) {
            throw new Fault("its header ends too early");
        }
        return text.charAt(next++);
    }

    private void expect(char wanted) throws Fault {
        if (!accept(wanted)) {
            throw fault("'" + wanted + "'");
        }
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
        while (next < text.length() && " \t\r\n".indexOf(text.charAt(next)) >= 0) {
            next++;
        }
    }

    /** Checks that only white space follows. */
    void end() throws Fault {
        skipSpace();
        if (next < text.length()) {
            throw fault("nothing more");
        }
    }

    private Fault fault(String wanted) {
        return new Fault(
                "its header is not valid: expected "
                        + wanted
                        + " at character "
                        + next
                        + ", found "
                        + found());
    }

    private String found() {
        if (next >= text.length()) {
            return "its end";
        }
        char c = text.charAt(next);
        return c > ' ' && c < 0x7f ? "'" + c + "'" : "the character U+%04X".formatted((int) c);
    }
}
