package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jccl.ranktable.json.Json;
import org.jccl.ranktable.json.JsonFault;
import org.jccl.ranktable.json.JsonPath;

/**
 * A value of a table with its path. A missing or wrong value is reported as a fault, and reading
 * continues.
 */
final class Element {

    /** Takes the place of a number that is missing or cannot be read. */
    static final int UNKNOWN = -1;

    private static final int MAX_DIGITS = 18;
    private static final int MAX_PORT = 65_535;

    private final Json value;
    private final JsonPath path;
    private final Faults faults;
    private final Quotes quotes;

    /** The chips that refuse a table with a fault here; empty for all. */
    private final Optional<Set<AscendChip>> refusing;

    /** Whether the numbers of a format are in quotes. */
    private enum Quotes {
        SOME,
        ALL,
        NONE
    }

    private Element(
            Json value,
            JsonPath path,
            Faults faults,
            Quotes quotes,
            Optional<Set<AscendChip>> refusing) {
        this.value = value;
        this.path = path;
        this.faults = faults;
        this.quotes = quotes;
        this.refusing = refusing;
    }

    static Element root(Json value, Faults faults) {
        return new Element(value, JsonPath.ROOT, faults, Quotes.SOME, Optional.empty());
    }

    /** The same, for a format whose numbers are all in quotes. */
    Element onlyText() {
        return new Element(value, path, faults, Quotes.ALL, refusing);
    }

    /** The same, for a format whose numbers are never in quotes. */
    Element onlyNumbers() {
        return new Element(value, path, faults, Quotes.NONE, refusing);
    }

    /** The same, for a rule that only some chips have; none for a rule that HCCL does not have. */
    Element refusedBy(AscendChip... chips) {
        return new Element(value, path, faults, quotes, Optional.of(Set.of(chips)));
    }

    void fault(String message) {
        add(path, message);
    }

    private void add(JsonPath at, String message) {
        JsonFault fault = new JsonFault(at, value.at(), message);
        refusing.ifPresentOrElse(chips -> faults.add(fault, chips), () -> faults.add(fault));
    }

    boolean isObject() {
        return value instanceof Json.Obj;
    }

    boolean isArray() {
        return value instanceof Json.Array;
    }

    String describe() {
        return value.describe();
    }

    String path() {
        return path.toString();
    }

    boolean has(String name) {
        return field(name).isPresent();
    }

    Optional<Element> field(String name) {
        return value instanceof Json.Obj object
                ? Optional.ofNullable(object.fields().get(name))
                        .map(found -> child(found, path.field(name)))
                : Optional.empty();
    }

    private Element child(Json found, JsonPath at) {
        return new Element(found, at, faults, quotes, refusing);
    }

    /** The field of that name; its absence is a fault. */
    Optional<Element> required(String name, String meaning) {
        Optional<Element> field = field(name);
        if (field.isEmpty()) {
            missing(name, meaning);
        }
        return field;
    }

    void missing(String name, String meaning) {
        add(path.field(name), "is missing: " + meaning);
    }

    /** The objects of a list, which must exist and not be empty. */
    List<Element> objects(String name, String meaning) {
        Optional<Element> field = required(name, meaning);
        return field.isPresent() ? field.get().objects() : List.of();
    }

    /** The items of an array; none if the value is no array. */
    List<Element> items() {
        List<Element> items = new ArrayList<>();
        if (value instanceof Json.Array array) {
            for (Json item : array.items()) {
                items.add(child(item, path.item(items.size())));
            }
        }
        return items;
    }

    private List<Element> objects() {
        List<Element> items = items();
        if (items.isEmpty()) {
            fault("is " + value.describe() + ": give an array with at least one object");
        }
        List<Element> objects = new ArrayList<>();
        for (Element item : items) {
            if (item.isObject()) {
                objects.add(item);
            } else {
                item.fault("is " + item.describe() + ": give an object");
            }
        }
        return objects;
    }

    /** The text here, or empty after a fault. */
    Optional<String> text() {
        if (value instanceof Json.Text text && !text.value().isBlank()) {
            return Optional.of(text.value());
        }
        if (value instanceof Json.Num number) {
            fault("is " + value.describe() + ": write it in quotes, \"" + number.literal() + '"');
            return Optional.empty();
        }
        fault("is " + value.describe() + ": give a text that is not empty");
        return Optional.empty();
    }

    /** The text of a field, or empty after a fault. */
    Optional<String> text(String name, String meaning) {
        return required(name, meaning).flatMap(Element::text);
    }

    /** The text or number here, or empty for anything else. */
    Optional<String> scalar() {
        if (value instanceof Json.Text text) {
            return Optional.of(text.value());
        }
        return value instanceof Json.Num number ? Optional.of(number.literal()) : Optional.empty();
    }

    boolean isText() {
        return value instanceof Json.Text;
    }

    /** Whether this is an empty text, which counts as a missing field. */
    boolean isEmpty() {
        return value instanceof Json.Text text && text.value().isEmpty();
    }

    /** Whether this is a text of white space, or an empty one. */
    boolean isBlank() {
        return value instanceof Json.Text text && text.value().isBlank();
    }

    /** The whole number here, or {@link #UNKNOWN} after a fault. */
    long number(long most) {
        String digits = scalar().orElse("");
        if (!digits.matches("[0-9]{1," + MAX_DIGITS + "}") || Long.parseLong(digits) > most) {
            fault("is " + value.describe() + ": give a whole number from 0 to " + most);
            return UNKNOWN;
        }
        if (quotes == Quotes.ALL && value instanceof Json.Num) {
            fault("is " + value.describe() + ": HCCL reads text only, write \"" + digits + '"');
        }
        if (quotes == Quotes.NONE && value instanceof Json.Text) {
            fault("is " + value.describe() + ": HCCL reads a number only, write " + digits);
        }
        return Long.parseLong(digits);
    }

    /** The whole number here, or {@link #UNKNOWN} after a fault. */
    int number() {
        return (int) number(Integer.MAX_VALUE);
    }

    /** The whole number of a field, or {@link #UNKNOWN} after a fault. */
    int number(String name, String meaning) {
        return number(name, meaning, Integer.MAX_VALUE);
    }

    /** The whole number of a field, at most {@code most}, or {@link #UNKNOWN} after a fault. */
    int number(String name, String meaning, int most) {
        return required(name, meaning).map(field -> (int) field.number(most)).orElse(UNKNOWN);
    }

    /** Whether this is a number, which is not in quotes. */
    boolean isNumber() {
        return value instanceof Json.Num;
    }

    /** Reports a fault unless this is the wanted text or number; the advice says what to write. */
    void mustBe(String wanted, String advice) {
        if (!scalar().orElse("").equals(wanted)) {
            fault("is " + describe() + ": " + advice);
        }
    }

    /** Reports a fault if there is a field of that name and it is no port. */
    void checkPort(String name) {
        field(name)
                .filter(port -> port.number(MAX_PORT) == 0)
                .ifPresent(port -> port.fault("is 0: ports begin at 1"));
    }

    /** Checks a field that, if it exists, must be the number of something in the table. */
    void mustCount(String name, int count, String what) {
        field(name)
                .ifPresent(
                        field -> {
                            int number = field.number();
                            if (number != UNKNOWN && number != count) {
                                field.fault(
                                        "is " + number + ", but there are " + count + " " + what);
                            }
                        });
    }
}
