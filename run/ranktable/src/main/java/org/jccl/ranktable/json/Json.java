package org.jccl.ranktable.json;

import java.util.List;
import java.util.Map;

/** A JSON value and where it begins. */
public sealed interface Json {

    /**
     * Where the value begins.
     *
     * @return the place
     */
    Position at();

    /**
     * What it is, as a message says it.
     *
     * @return for instance {@code an object} or {@code the number 3}
     */
    String describe();

    /**
     * A place in a text.
     *
     * @param line from 1; 0 for a value that was not read
     * @param column from 1, in characters of UTF-16; 0 for a value that was not read
     */
    record Position(int line, int column) {

        /** The place of values that were not read. */
        public static final Position NONE = new Position(0, 0);
    }

    /**
     * A string.
     *
     * @param value without quotes and escapes
     * @param at where it begins
     */
    record Text(String value, Position at) implements Json {

        /**
         * A string that was not read.
         *
         * @param value without quotes and escapes
         */
        public Text(String value) {
            this(value, Position.NONE);
        }

        @Override
        public String describe() {
            return '"' + JsonPath.abbreviate(value) + '"';
        }
    }

    /**
     * A number, as it is written: what it means is for the reader of the file to say.
     *
     * @param literal its text
     * @param at where it begins
     */
    record Num(String literal, Position at) implements Json {

        /**
         * A number that was not read.
         *
         * @param value the number
         */
        public Num(long value) {
            this(Long.toString(value), Position.NONE);
        }

        @Override
        public String describe() {
            return "the number " + JsonPath.abbreviate(literal);
        }
    }

    /**
     * One of {@code true}, {@code false} and {@code null}.
     *
     * @param name which one
     * @param at where it begins
     */
    record Word(String name, Position at) implements Json {

        @Override
        public String describe() {
            return name;
        }
    }

    /**
     * An array.
     *
     * @param items its values
     * @param at where it begins
     */
    record Array(List<Json> items, Position at) implements Json {

        /**
         * An array that was not read.
         *
         * @param items its values
         */
        public Array(List<Json> items) {
            this(items, Position.NONE);
        }

        @Override
        public String describe() {
            return items.isEmpty() ? "an empty array" : "an array";
        }
    }

    /**
     * An object.
     *
     * @param fields its fields, in the order of the text
     * @param at where it begins
     */
    record Obj(Map<String, Json> fields, Position at) implements Json {

        /**
         * An object that was not read.
         *
         * @param fields its fields, in the order in which they are written
         */
        public Obj(Map<String, Json> fields) {
            this(fields, Position.NONE);
        }

        @Override
        public String describe() {
            return "an object";
        }
    }
}
