package org.jccl.training;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jccl.DataType;

/**
 * The header of a safetensors file: metadata, and the type, shape and byte range of each tensor.
 *
 * @param metadata the texts by name
 * @param tensors the tensors by name, in the order of the header
 */
record SafetensorsHeader(Map<String, String> metadata, Map<String, Entry> tensors) {

    /** Bytes of the header's length, which precedes the header. */
    static final int PREFIX = Long.BYTES;

    /** The largest header of the format. */
    static final int MAX_BYTES = 100_000_000;

    private static final String METADATA = "__metadata__";
    private static final int ALIGNMENT = 8;

    /** The types by their names in the format. */
    private static final Map<String, DataType> TYPES =
            Map.ofEntries(
                    Map.entry("BOOL", DataType.BOOL),
                    Map.entry("U8", DataType.UINT8),
                    Map.entry("I8", DataType.INT8),
                    Map.entry("I16", DataType.INT16),
                    Map.entry("I32", DataType.INT32),
                    Map.entry("I64", DataType.INT64),
                    Map.entry("F16", DataType.FLOAT16),
                    Map.entry("BF16", DataType.BFLOAT16),
                    Map.entry("F32", DataType.FLOAT32),
                    Map.entry("F64", DataType.FLOAT64),
                    Map.entry("F8_E4M3", DataType.FLOAT8_E4M3),
                    Map.entry("F8_E5M2", DataType.FLOAT8_E5M2));

    /** The bits per element of the types that the format has and JCCL lacks. */
    private static final Map<String, Integer> OTHER_TYPES =
            Map.of(
                    "F4", 4,
                    "F6_E2M3", 6,
                    "F6_E3M2", 6,
                    "F8_E8M0", 8,
                    "F8_E4M3FNUZ", 8,
                    "F8_E5M2FNUZ", 8,
                    "U16", 16,
                    "U32", 32,
                    "U64", 64,
                    "C64", 64);

    /**
     * A tensor.
     *
     * @param type the name of the type of its elements
     * @param shape its sizes
     * @param begin the first byte, relative to the end of the header
     * @param end the byte after the last one
     */
    record Entry(String type, List<Long> shape, long begin, long end) {}

    /** Returns the name of a type in the format. */
    static String name(DataType type) {
        return TYPES.entrySet().stream()
                .filter(entry -> entry.getValue() == type)
                .map(Map.Entry::getKey)
                .findFirst()
                .orElseThrow();
    }

    /** Returns the type with a name in the format, or null if JCCL lacks it. */
    static DataType type(String name) {
        return TYPES.get(name);
    }

    /** Returns the names of the types that JCCL has. */
    static String types() {
        return String.join(", ", new TreeSet<>(TYPES.keySet()));
    }

    /** Thrown if a header is invalid. */
    static final class Fault extends Exception {

        private static final long serialVersionUID = 1L;

        Fault(String message) {
            super(message);
        }
    }

    /** Returns the number of elements of a shape. A size may be 0. */
    static long count(List<Long> shape) {
        long count = 1;
        for (long size : shape) {
            if (size < 0) {
                throw new ArithmeticException("a size is negative");
            }
            count = Math.multiplyExact(count, size);
        }
        return count;
    }

    /**
     * Reads a header and checks that its tensors fill the file without a gap.
     *
     * @param header the bytes of the header, without its length
     * @param dataBytes the number of bytes after the header
     */
    static SafetensorsHeader read(byte[] header, long dataBytes) throws Fault {
        HeaderParser parser = new HeaderParser(header);
        Map<String, String> metadata = new LinkedHashMap<>();
        Map<String, Entry> tensors = new LinkedHashMap<>();
        boolean[] seen = new boolean[1];
        parser.object(
                name -> {
                    if (name.equals(METADATA)) {
                        if (seen[0]) {
                            throw new Fault(METADATA + " appears twice");
                        }
                        seen[0] = true;
                        if (!parser.acceptNull()) {
                            parser.object(
                                    key -> {
                                        if (metadata.put(key, parser.string()) != null) {
                                            throw new Fault("metadata '" + key + "' appears twice");
                                        }
                                    });
                        }
                    } else if (tensors.put(name, entry(parser, name)) != null) {
                        throw new Fault("tensor '" + name + "' appears twice");
                    }
                });
        parser.end();
        checkRanges(tensors, dataBytes);
        return new SafetensorsHeader(metadata, tensors);
    }

    private static Entry entry(HeaderParser parser, String name) throws Fault {
        List<String> type = new ArrayList<>();
        List<List<Long>> shape = new ArrayList<>();
        List<List<Long>> offsets = new ArrayList<>();
        parser.object(
                key -> {
                    switch (key) {
                        case "dtype" -> type.add(parser.string());
                        case "shape" -> shape.add(parser.numbers());
                        case "data_offsets" -> offsets.add(parser.numbers());
                        default -> parser.skipValue();
                    }
                });
        if (type.size() != 1 || shape.size() != 1 || offsets.size() != 1) {
            throw new Fault(
                    "tensor '" + name + "' must have dtype, shape and data_offsets, each once");
        }
        List<Long> range = offsets.get(0);
        try {
            long bits = Math.multiplyExact(count(shape.get(0)), bits(name, type.get(0)));
            if (bits % Byte.SIZE == 0
                    && range.size() == 2
                    && range.get(1) - range.get(0) == bits / Byte.SIZE) {
                return new Entry(type.get(0), shape.get(0), range.get(0), range.get(1));
            }
        } catch (ArithmeticException e) {
            // larger than any file
        }
        throw new Fault(
                "tensor '"
                        + name
                        + "' of "
                        + type.get(0)
                        + " and shape "
                        + shape.get(0)
                        + " does not fit its data_offsets "
                        + range);
    }

    private static long bits(String name, String type) throws Fault {
        if (TYPES.containsKey(type)) {
            return (long) TYPES.get(type).size() * Byte.SIZE;
        }
        if (OTHER_TYPES.containsKey(type)) {
            return OTHER_TYPES.get(type);
        }
        throw new Fault(
                "tensor '"
                        + name
                        + "' has the dtype '"
                        + type
                        + "', which is not one of the format: "
                        + types()
                        + ", "
                        + String.join(", ", new TreeSet<>(OTHER_TYPES.keySet())));
    }

    private static void checkRanges(Map<String, Entry> tensors, long dataBytes) throws Fault {
        List<Map.Entry<String, Entry>> inOrder = new ArrayList<>(tensors.entrySet());
        inOrder.sort(
                Comparator.comparingLong((Map.Entry<String, Entry> e) -> e.getValue().begin())
                        .thenComparingLong(e -> e.getValue().end()));
        long next = 0;
        for (Map.Entry<String, Entry> tensor : inOrder) {
            if (tensor.getValue().begin() != next) {
                throw new Fault(
                        "tensor '"
                                + tensor.getKey()
                                + "' begins at byte "
                                + tensor.getValue().begin()
                                + " of the data; the tensors before it end at byte "
                                + next);
            }
            next = tensor.getValue().end();
        }
        if (next != dataBytes) {
            throw new Fault(
                    "its tensors have "
                            + next
                            + " bytes, but "
                            + dataBytes
                            + " follow the header: the file is truncated or invalid");
        }
    }

    /** Returns the length and the header as bytes. */
    byte[] write() {
        StringBuilder json = new StringBuilder("{");
        if (!metadata.isEmpty()) {
            quote(json, METADATA).append(":{");
            String separator = "";
            for (Map.Entry<String, String> entry : metadata.entrySet()) {
                quote(json.append(separator), entry.getKey()).append(':');
                quote(json, entry.getValue());
                separator = ",";
            }
            json.append('}');
        }
        for (Map.Entry<String, Entry> tensor : tensors.entrySet()) {
            json.append(json.length() == 1 ? "" : ",");
            Entry entry = tensor.getValue();
            quote(json, tensor.getKey()).append(":{\"dtype\":\"").append(entry.type());
            json.append("\",\"shape\":").append(entry.shape().toString().replace(" ", ""));
            json.append(",\"data_offsets\":[").append(entry.begin()).append(',');
            json.append(entry.end()).append("]}");
        }
        byte[] text = json.append('}').toString().getBytes(StandardCharsets.UTF_8);
        int padded = (text.length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        byte[] bytes = new byte[PREFIX + padded];
        Arrays.fill(bytes, (byte) ' ');
        for (int i = 0; i < PREFIX; i++) {
            bytes[i] = (byte) ((long) padded >>> 8 * i);
        }
        System.arraycopy(text, 0, bytes, PREFIX, text.length);
        return bytes;
    }

    private static StringBuilder quote(StringBuilder json, String text) {
        json.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ' || Character.isSurrogate(c)) {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"');
    }
}
