package org.jccl.ranktable.json;

import java.util.Iterator;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Writes JSON as Python's {@code json.dump(..., indent=4, separators=(",", ":"))} lays it out, in
 * ASCII: the layout in which tools write rank tables.
 */
public final class JsonWriter {

    private static final String STEP = "    ";

    private final StringBuilder text = new StringBuilder();

    private JsonWriter() {}

    /**
     * Writes a document.
     *
     * @param document the document
     * @return its text, without a newline at the end
     */
    public static String write(Json document) {
        JsonWriter writer = new JsonWriter();
        writer.value(document, "\n");
        return writer.text.toString();
    }

    private void value(Json value, String newline) {
        if (value instanceof Json.Obj object) {
            Iterator<Map.Entry<String, Json>> fields = object.fields().entrySet().iterator();
            block(
                    '{',
                    '}',
                    newline,
                    fields,
                    field -> {
                        quote(field.getKey());
                        text.append(':');
                        value(field.getValue(), newline + STEP);
                    });
        } else if (value instanceof Json.Array array) {
            block('[', ']', newline, array.items().iterator(), item -> value(item, newline + STEP));
        } else if (value instanceof Json.Text string) {
            quote(string.value());
        } else if (value instanceof Json.Num number) {
            text.append(number.literal());
        } else if (value instanceof Json.Word word) {
            text.append(word.name());
        }
    }

    private <T> void block(
            char begin, char end, String newline, Iterator<T> parts, Consumer<T> write) {
        text.append(begin);
        boolean empty = !parts.hasNext();
        while (parts.hasNext()) {
            text.append(newline).append(STEP);
            write.accept(parts.next());
            text.append(parts.hasNext() ? "," : "");
        }
        text.append(empty ? "" : newline).append(end);
    }

    private void quote(String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            int simple = "\"\\\b\f\n\r\t".indexOf(c);
            if (simple >= 0) {
                text.append('\\').append("\"\\bfnrt".charAt(simple));
            } else if (c < ' ' || c > '~' + 1) {
                text.append(String.format("\\u%04x", (int) c));
            } else {
                text.append(c);
            }
        }
        text.append('"');
    }
}
