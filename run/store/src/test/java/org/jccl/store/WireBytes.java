package org.jccl.store;

import java.io.ByteArrayOutputStream;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Bytes written as in a trace: hex pairs, {@code 00x7} for seven of them, and 'text'. */
final class WireBytes {

    private static final Pattern TOKEN =
            Pattern.compile("'([^']*)'|([0-9a-f]{2})x(\\d+)|([0-9a-f]{2})|\\s+");

    private WireBytes() {}

    static byte[] of(String trace) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Matcher token = TOKEN.matcher(trace);
        int end = 0;
        while (token.find() && token.start() == end) {
            end = token.end();
            if (token.group(1) != null) {
                bytes.writeBytes(StoreContract.bytes(token.group(1)));
            } else if (token.group(2) != null) {
                for (int i = Integer.parseInt(token.group(3)); i > 0; i--) {
                    bytes.write(HexFormat.fromHexDigits(token.group(2)));
                }
            } else if (token.group(4) != null) {
                bytes.write(HexFormat.fromHexDigits(token.group(4)));
            }
        }
        if (end != trace.length()) {
            throw new IllegalArgumentException("no trace from " + end + " on: " + trace);
        }
        return bytes.toByteArray();
    }
}
