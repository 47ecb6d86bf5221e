package org.jccl.cli;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.IllegalCharsetNameException;
import java.nio.charset.StandardCharsets;
import java.nio.charset.UnsupportedCharsetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The arguments of this process byte for byte. Java decodes and encodes arguments by the locale,
 * which changes bytes that are no text there. As Python does, this class decodes UTF-8 and
 * represents each other byte by half of a surrogate pair, which no valid text has.
 */
final class RawArguments {

    private static final Path COMMAND_LINE = Path.of("/proc/self/cmdline");
    private static final char ESCAPES = 0xDC00;
    private static final int BYTE = 0xFF;

    private RawArguments() {}

    /** Returns the arguments of {@code main} with the bytes that the process was started with. */
    static String[] of(String[] arguments) {
        List<String> all = new ArrayList<>();
        try {
            byte[] line = Files.readAllBytes(COMMAND_LINE);
            int begin = 0;
            for (int i = 0; i < line.length; i++) {
                if (line[i] == 0) {
                    all.add(decode(line, begin, i));
                    begin = i + 1;
                }
            }
        } catch (IOException e) {
            return arguments;
        }
        return all.size() < arguments.length
                ? arguments
                : all.subList(all.size() - arguments.length, all.size()).toArray(String[]::new);
    }

    private static String decode(byte[] bytes, int begin, int end) {
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
        ByteBuffer in = ByteBuffer.wrap(bytes, begin, end - begin);
        CharBuffer out = CharBuffer.allocate(end - begin);
        while (true) {
            CoderResult result = decoder.decode(in, out, true);
            if (!result.isError()) {
                return out.flip().toString();
            }
            for (int i = 0; i < result.length(); i++) {
                out.put((char) (ESCAPES | in.get() & BYTE));
            }
        }
    }

    private static byte[] encode(String text) {
        ByteBuffer bytes = ByteBuffer.allocate(3 * text.length());
        int begin = 0;
        for (int i = 0; i <= text.length(); i++) {
            boolean escape =
                    i < text.length()
                            && Character.isLowSurrogate(text.charAt(i))
                            && (i == 0 || !Character.isHighSurrogate(text.charAt(i - 1)));
            if (escape || i == text.length()) {
                bytes.put(text.substring(begin, i).getBytes(StandardCharsets.UTF_8));
                begin = i + 1;
            }
            if (escape) {
                bytes.put((byte) text.charAt(i));
            }
        }
        byte[] all = new byte[bytes.flip().remaining()];
        bytes.get(all);
        return all;
    }

    /**
     * Returns a command that Java can start unchanged: the given one, or if Java would change a
     * word of it, a shell that becomes the given one.
     */
    static List<String> command(List<String> words) {
        Charset charset = ofProcesses();
        if (words.stream().allMatch(word -> charset.newEncoder().canEncode(word))) {
            return words;
        }
        StringBuilder script = new StringBuilder();
        for (String word : words) {
            script.append("; w=$(printf '");
            for (byte each : encode(word)) {
                script.append(String.format("\\%03o", each & BYTE));
            }
            // The shell removes line ends behind what is printed, so a mark follows the word.
            script.append("x'); set -- \"$@\" \"${w%x}\"");
        }
        return List.of("sh", "-c", "unset w; set --" + script + "; unset w; exec \"$@\"");
    }

    private static Charset ofProcesses() {
        try {
            return Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));
        } catch (IllegalCharsetNameException | UnsupportedCharsetException e) {
            return StandardCharsets.US_ASCII;
        }
    }
}
