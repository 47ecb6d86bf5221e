package org.jccl.training;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jccl.training.SafetensorsHeader.Fault;

/** Parser of the subset of JSON in safetensors headers: objects, texts and counts. */
final class HeaderParser {

    private static final int MAX_DIMENSIONS = 64;
    private static final int HEXADECIMAL = 16;

    private final String text;
    private int next;

    HeaderParser(byte[] header) throws Fault {
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(header)).toString();
        } catch (CharacterCodingException e) {
            throw new Fault("its header is not UTF-8");
        }
        if (!text.startsWith("{")) {
            throw new Fault("its header does not begin with {");
        }
    }

    /** Reads the value of a field. */
    interface Field {
        void read(String name) throws Fault;
    }

    void object(Field field) throws Fault {
        expect('{');
        if (accept('}')) {
            return;
        }
        do {
            String name = string();
            expect(':');
            field.read(name);
        } while (accept(','));
        expect('}');
    }

    List<Long> numbers() throws Fault {
        List<Long> numbers = new ArrayList<>();
        expect('[');
        if (accept(']')) {
            return numbers;
        }
        do {
            numbers.add(number());
        } while (accept(',') && numbers.size() < MAX_DIMENSIONS);
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
        if (digits.isEmpty() || digits.length() > 1 && digits.charAt(0) == '0') {
            throw fault("a count");
        }
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException e) {
            throw new Fault("its header has a count that is too large");
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
            throw fault("its end");
        }
    }

    private Fault fault(String wanted) {
        return new Fault("its header has no " + wanted + " at character " + next);
    }
}
