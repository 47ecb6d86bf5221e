package org.jccl.ranktable.json;

import org.jccl.internal.json.JsonText;

/** Writes JSON in the layout in which tools write rank tables. */
public final class JsonWriter {

    private JsonWriter() {}

    /**
     * Writes a document.
     *
     * @param document the document
     * @return its text, without a newline at the end
     */
    public static String write(Json document) {
        JsonText text = JsonText.indented();
        write(null, document, text);
        return text.toString();
    }

    private static void write(String name, Json value, JsonText text) {
        if (value instanceof Json.Obj object) {
            text.beginObject(name);
            object.fields().forEach((field, each) -> write(field, each, text));
            text.endObject();
        } else if (value instanceof Json.Array array) {
            text.beginArray(name);
            array.items().forEach(each -> write(null, each, text));
            text.endArray();
        } else if (value instanceof Json.Text string) {
            text.field(name, string.value());
        } else if (value instanceof Json.Num number) {
            text.literal(name, number.literal());
        } else if (value instanceof Json.Word word) {
            text.literal(name, word.name());
        }
    }
}
