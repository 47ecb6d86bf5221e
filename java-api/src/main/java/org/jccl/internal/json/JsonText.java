package org.jccl.internal.json;

/**
 * Builds JSON text. The caller must pair begins and ends. A name is null inside an array and at the
 * top. Texts are escaped here.
 */
public final class JsonText {

    private final StringBuilder text = new StringBuilder();
    private boolean first = true;

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
        name(name);
        text.append(value);
        return this;
    }

    public JsonText field(String name, double value) {
        name(name);
        text.append(value);
        return this;
    }

    public JsonText field(String name, boolean value) {
        name(name);
        text.append(value);
        return this;
    }

    public JsonText value(String value) {
        separate();
        quote(value);
        return this;
    }

    private JsonText begin(String name, char bracket) {
        if (name == null) {
            separate();
        } else {
            name(name);
        }
        text.append(bracket);
        first = true;
        return this;
    }

    private JsonText end(char bracket) {
        text.append(bracket);
        first = false;
        return this;
    }

    private void name(String name) {
        separate();
        quote(name);
        text.append(':');
    }

    private void separate() {
        if (!first) {
            text.append(",\n");
        }
        first = false;
    }

    private void quote(String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c < ' ') {
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
