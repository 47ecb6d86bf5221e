package org.jccl.cli.ranktable;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The lists of lists that {@code tpu_gen_sccl_rank_table} takes: Python's notation, with whole
 * numbers or texts in quotes as items.
 */
final class NestedList {

    private static final Pattern ITEM =
            Pattern.compile("(?<number>-?[0-9]+)|'(?<single>[^'\\\\]*)'|\"(?<plain>[^\"\\\\]*)\"");

    private final String text;
    private int next;

    private NestedList(String text) {
        this.text = text;
    }

    /**
     * An item.
     *
     * @param value what it says, without quotes
     * @param quoted whether it was in quotes
     */
    record Item(String value, boolean quoted) {}

    /**
     * Reads a list.
     *
     * @throws IllegalArgumentException if it is none; the message says where
     */
    static List<List<Item>> parse(String text) {
        NestedList list = new NestedList(text);
        List<List<Item>> lists = list.list(() -> list.list(list::item));
        list.skipSpace();
        if (list.next < text.length()) {
            throw list.expected("the end");
        }
        return lists;
    }

    /** Reads what one item of a list is. */
    private interface Reader<T> {
        T read();
    }

    private <T> List<T> list(Reader<T> reader) {
        if (!accept('[')) {
            throw expected("'['");
        }
        List<T> list = new ArrayList<>();
        while (!accept(']')) {
            list.add(reader.read());
            // As in Python, a comma may stand after the last one.
            if (!accept(',')) {
                if (!accept(']')) {
                    throw expected("',' or ']'");
                }
                break;
            }
        }
        return list;
    }

    private Item item() {
        skipSpace();
        Matcher item = ITEM.matcher(text).region(next, text.length());
        if (!item.lookingAt()) {
            throw expected("a number or a text in quotes");
        }
        next = item.end();
        if (item.group("number") != null) {
            return new Item(item.group("number"), false);
        }
        String single = item.group("single");
        return new Item(single != null ? single : item.group("plain"), true);
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
        while (next < text.length() && Character.isWhitespace(text.charAt(next))) {
            next++;
        }
    }

    private IllegalArgumentException expected(String what) {
        skipSpace();
        String found = next < text.length() ? "'" + text.charAt(next) + "'" : "the end";
        return new IllegalArgumentException(
                "expected " + what + " at character " + (next + 1) + ", found " + found);
    }
}
