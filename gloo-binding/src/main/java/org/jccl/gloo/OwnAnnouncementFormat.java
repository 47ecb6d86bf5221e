package org.jccl.gloo;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.MismatchException;

/** One line of text, followed by gloo's form of address and port. */
final class OwnAnnouncementFormat implements AnnouncementFormat {

    private static final int WORDS = 4;

    /** The fifth word of a rank whose connections are encrypted. */
    private static final String ENCRYPTED = "tls";

    @Override
    public String key(int rank) {
        return "gloo/" + rank;
    }

    @Override
    public Optional<String> newKey(int rank) {
        return Optional.of("gloo/new/" + rank);
    }

    @Override
    public boolean meets() {
        return true;
    }

    @Override
    public byte[] encode(Announcement announcement, int size) {
        byte[] line =
                (announcement.host()
                                + " "
                                + announcement.address()
                                + " "
                                + announcement.onlyLocal()
                                + " "
                                + announcement.firstNumber()
                                + (announcement.encrypted() ? " " + ENCRYPTED : "")
                                + "\n")
                        .getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(line.length + announcement.port().length)
                .put(line)
                .put(announcement.port())
                .array();
    }

    @Override
    public Announcement decode(byte[] value, int size) {
        int end = 0;
        while (end < value.length && value[end] != '\n') {
            end++;
        }
        String[] words = new String(value, 0, end, StandardCharsets.UTF_8).split(" ", -1);
        int first = end + 1;
        boolean encrypted = words.length == WORDS + 1 && words[WORDS].equals(ENCRYPTED);
        if (value.length - first != Announcement.PORT_BYTES
                || words.length != WORDS && !encrypted
                || words[1].isBlank()
                || !words[2].equals("true") && !words[2].equals("false")
                || !words[3].matches("\\d{1,18}")) {
            throw new MismatchException(
                    FailureContext.NONE,
                    "gloo: the announcement of a rank in "
                            + value.length
                            + " bytes does not have the format of this version of JCCL for "
                            + size
                            + " ranks; all ranks must use the same version, and no other job may use the"
                            + " keys of this group in the store");
        }
        return new Announcement(
                words[0],
                words[1],
                Boolean.parseBoolean(words[2]),
                Arrays.copyOfRange(value, first, value.length),
                Long.parseLong(words[3]),
                encrypted,
                List.of());
    }
}
