package org.jccl.ranktable.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * Reads JSON with Jackson, as RFC 8259 has it. A byte order mark at the beginning is skipped. Half
 * a surrogate pair is a fault, because it cannot be written to a file.
 */
public final class JsonReader {

    /** The longest text that is read, in characters. */
    public static final int MAX_LENGTH = 16 << 20;

    /** How deep arrays and objects may be nested. */
    static final int MAX_DEPTH = 64;

    /** The limits of this class come first. */
    private static final JsonFactory FACTORY =
            new JsonFactoryBuilder()
                    .streamReadConstraints(
                            StreamReadConstraints.builder()
                                    .maxNestingDepth(2 * MAX_DEPTH)
                                    .maxStringLength(MAX_LENGTH)
                                    .maxNameLength(MAX_LENGTH)
                                    .maxNumberLength(MAX_LENGTH)
                                    .build())
                    .build();

    /** A place in a message of Jackson. */
    private static final Pattern PLACE =
            Pattern.compile("\\[Source: [^\\]]*; line: (\\d+), column: (\\d+)\\]");

    private final JsonParser parser;
    private final Consumer<JsonFault> faults;

    /** The value that is being read. */
    private JsonPath path = JsonPath.ROOT;

    private JsonReader(JsonParser parser, Consumer<JsonFault> faults) {
        this.parser = parser;
        this.faults = faults;
    }

    /**
     * Reads a document.
     *
     * @param text the document
     * @param faults receives every fault. Reading continues after a name that appears twice, whose
     *     first value counts, and ends at any other fault
     * @return the document, or empty if the text is no JSON
     */
    public static Optional<Json> read(String text, Consumer<JsonFault> faults) {
        if (text.length() > MAX_LENGTH) {
            String message = "has more than " + MAX_LENGTH + " characters";
            faults.accept(new JsonFault(JsonPath.ROOT, new Json.Position(1, 1), message));
            return Optional.empty();
        }
        String json = text.startsWith("\uFEFF") ? text.substring(1) : text;
        try (JsonParser parser = FACTORY.createParser(json)) {
            JsonReader reader = new JsonReader(parser, faults);
            try {
                return Optional.of(reader.document());
            } catch (JsonProcessingException e) {
                faults.accept(new JsonFault(reader.path, position(e.getLocation()), message(e)));
                return Optional.empty();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("a text in memory cannot be read", e);
        }
    }

    private static Json.Position position(JsonLocation at) {
        return new Json.Position(at.getLineNr(), at.getColumnNr());
    }

    private static String message(JsonProcessingException e) {
        String text = PLACE.matcher(e.getOriginalMessage()).replaceAll("line $1, column $2");
        return "is not JSON: " + text.replaceAll("\\p{Cntrl}|\\p{IsCs}", "?");
    }

    private JsonProcessingException wrong(String message, JsonLocation at) {
        return new NotJson(message, at);
    }

    /** A rule that Jackson does not check. */
    private static final class NotJson extends JsonProcessingException {

        private static final long serialVersionUID = 1L;

        NotJson(String message, JsonLocation at) {
            super(message, at);
        }
    }

    private Json document() throws IOException {
        if (parser.nextToken() == null) {
            throw wrong("the document is empty", parser.currentLocation());
        }
        Json root = value(0);
        if (parser.nextToken() != null) {
            throw wrong(
                    "there is text after the end of the document", parser.currentTokenLocation());
        }
        return root;
    }

    /** Reads the value whose first token is the current one. */
    private Json value(int depth) throws IOException {
        Json.Position at = position(parser.currentTokenLocation());
        JsonToken token = parser.currentToken();
        if (token.isStructStart() && depth == MAX_DEPTH) {
            throw wrong("more than " + MAX_DEPTH + " levels deep", parser.currentTokenLocation());
        }
        return switch (token) {
            case START_OBJECT -> object(at, depth);
            case START_ARRAY -> array(at, depth);
            case VALUE_STRING -> new Json.Text(text(), at);
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> new Json.Num(parser.getText(), at);
            default -> new Json.Word(parser.getText(), at);
        };
    }

    private Json object(Json.Position at, int depth) throws IOException {
        JsonPath here = path;
        Map<String, Json> fields = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            Json.Position nameAt = position(parser.currentTokenLocation());
            String name = text();
            path = here.field(name);
            parser.nextToken();
            Json first = fields.putIfAbsent(name, value(depth + 1));
            if (first != null) {
                String where = "line " + first.at().line() + ", column " + first.at().column();
                faults.accept(new JsonFault(path, nameAt, "appears twice, first at " + where));
            }
            path = here;
        }
        return new Json.Obj(fields, at);
    }

    private Json array(Json.Position at, int depth) throws IOException {
        JsonPath here = path;
        List<Json> items = new ArrayList<>();
        path = here.item(0);
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            items.add(value(depth + 1));
            path = here.item(items.size());
        }
        path = here;
        return new Json.Array(items, at);
    }

    /** The text or name of the current token. */
    private String text() throws IOException {
        String text = parser.getText();
        boolean afterHigh = false;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isLowSurrogate(c) != afterHigh) {
                throw halfPair();
            }
            afterHigh = Character.isHighSurrogate(c);
        }
        if (afterHigh) {
            throw halfPair();
        }
        return text;
    }

    private JsonProcessingException halfPair() {
        return wrong("half a surrogate pair in a text", parser.currentTokenLocation());
    }
}
