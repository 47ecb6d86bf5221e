package org.jccl.ranktable.json;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.regex.Pattern;

/**
 * The position of a value in a document. The text is only built on request, because most values
 * have no fault.
 */
public final class JsonPath {

    /** The whole document. */
    public static final JsonPath ROOT = new JsonPath(null, null, 0);

    /** What messages show of a long text. */
    private static final int SHOWN = 60;

    private static final Pattern PLAIN = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    private final JsonPath parent;
    private final String name;
    private final int index;

    private JsonPath(JsonPath parent, String name, int index) {
        this.parent = parent;
        this.name = name;
        this.index = index;
    }

    /**
     * A field of the object here.
     *
     * @param field its name
     * @return its path
     */
    public JsonPath field(String field) {
        return new JsonPath(this, field, 0);
    }

    /**
     * An item of the array here.
     *
     * @param item its index, from 0
     * @return its path
     */
    public JsonPath item(int item) {
        return new JsonPath(this, null, item);
    }

    /** The path in JSONPath's notation, for instance {@code $.node_list[0].rank}. */
    @Override
    public String toString() {
        Deque<JsonPath> steps = new ArrayDeque<>();
        for (JsonPath step = this; step.parent != null; step = step.parent) {
            steps.push(step);
        }
        StringBuilder text = new StringBuilder("$");
        for (JsonPath step : steps) {
            if (step.name == null) {
                text.append('[').append(step.index).append(']');
            } else if (step.name.length() <= SHOWN && PLAIN.matcher(step.name).matches()) {
                text.append('.').append(step.name);
            } else {
                text.append("['").append(abbreviate(step.name)).append("']");
            }
        }
        return text.toString();
    }

    /** What a message shows of a text that may be long and hold anything: one line, and short. */
    static String abbreviate(String text) {
        String head = text.length() > SHOWN ? text.substring(0, SHOWN) : text;
        String shown = head.replaceAll("\\p{Cntrl}|\\p{IsCs}", "?");
        return text.length() > SHOWN ? shown + "..." : shown;
    }
}
