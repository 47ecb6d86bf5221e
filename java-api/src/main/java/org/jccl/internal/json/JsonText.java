package org.jccl.internal.json;

/**
 * Builds JSON text in ASCII. The caller must pair begins and ends. A name is null inside an array
 * and at the top. Texts are escaped here.
 */
public final class JsonText {

    private final String indent;
    private final StringBuilder text = new StringBuilder();
    private boolean first = true;
    private int depth;

    private JsonText(String indent) {
        this.indent = indent;
    }

    /** Each value but the first of its object or array is on a line of its own. */
    public JsonText() {
        this("");
    }

    /** The layout of Python's {@code json.dump(..., indent=4, separators=(",", ":"))}. */
    public static JsonText indented() {
        return new JsonText("    ");
    }

    public JsonText beginObject(String name) {
        return begin(name, '{');
    }

    public JsonText endObject() {
        return end('}');
    }

    public JsonText beginArray(String name) {
        return begin(name, '[');
    }

    public JsonText endArray() {
        return end(']');
    }

    public JsonText field(String name, String value) {
        name(name);
        quote(value);
        return this;
    }

    public JsonText field(String name, long value) {
        return literal(name, Long.toString(value));
    }

    public JsonText field(String name, double value) {
        return literal(name, Double.toString(value));
    }

    public JsonText field(String name, boolean value) {
        return literal(name, Boolean.toString(value));
    }

    /** Adds a number or a word as it is written. */
    public JsonText literal(String name, String literal) {
        name(name);
        text.append(literal);
        return this;
    }

    public JsonText value(String value) {
        return field(null, value);
    }

    private JsonText begin(String name, char bracket) {
        name(name);
        text.append(bracket);
        first = true;
        depth++;
        return this;
    }

    private JsonText end(char bracket) {
        depth--;
        if (!first && !indent.isEmpty()) {
            text.append('\n').append(indent.repeat(depth));
        }
        text.append(bracket);
        first = false;
        return this;
    }

    private void name(String name) {
        text.append(first ? "" : ",");
        if (!first || (depth > 0 && !indent.isEmpty())) {
            text.append('\n').append(indent.repeat(depth));
        }
        first = false;
        if (name != null) {
            quote(name);
            text.append(':');
        }
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

    /** Returns the text so far. */
    @Override
    public String toString() {
        return text.toString();
    }
}
