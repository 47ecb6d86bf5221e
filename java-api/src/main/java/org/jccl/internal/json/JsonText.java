package org.jccl.internal.json;

/** Builds JSON text. The caller keeps begins and ends in pairs. */
public final class JsonText {

    private final StringBuilder text = new StringBuilder();
    private boolean first = true;

    /** Begins with nothing. */
    public JsonText() {}

    /**
     * Begins an object.
     *
     * @param name null inside an array and at the top
     * @return this
     */
    public JsonText beginObject(String name) {
        return begin(name, '{');
    }

    /**
     * Ends the object that was begun last.
     *
     * @return this
     */
    public JsonText endObject() {
        return end('}');
    }

    /**
     * Begins an array.
     *
     * @param name null inside an array
     * @return this
     */
    public JsonText beginArray(String name) {
        return begin(name, '[');
    }

    /**
     * Ends the array that was begun last.
     *
     * @return this
     */
    public JsonText endArray() {
        return end(']');
    }

    /**
     * A text in an object.
     *
     * @param name of the field
     * @param value unescaped
     * @return this
     */
    public JsonText field(String name, String value) {
        name(name);
        quote(value);
        return this;
    }

    /**
     * A number in an object.
     *
     * @param name of the field
     * @param value the value
     * @return this
     */
    public JsonText field(String name, long value) {
        name(name);
        text.append(value);
        return this;
    }

    /**
     * A number in an object.
     *
     * @param name of the field
     * @param value the value
     * @return this
     */
    public JsonText field(String name, double value) {
        name(name);
        text.append(value);
        return this;
    }

    /**
     * A truth value in an object.
     *
     * @param name of the field
     * @param value the value
     * @return this
     */
    public JsonText field(String name, boolean value) {
        name(name);
        text.append(value);
        return this;
    }

    /**
     * A text in an array.
     *
     * @param value unescaped
     * @return this
     */
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

    /** All of the text so far. */
    @Override
    public String toString() {
        return text.toString();
    }
}
