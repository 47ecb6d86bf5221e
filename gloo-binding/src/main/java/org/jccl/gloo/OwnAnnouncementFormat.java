package org.jccl.gloo;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.MismatchException;

/** One line of text, then gloo's own form of one address a peer, all of the same length. */
final class OwnAnnouncementFormat implements AnnouncementFormat {

    private static final int WORDS = 3;

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
    public byte[] encode(Announcement announcement) {
        byte[] line =
                (announcement.host()
                                + " "
                                + announcement.address()
                                + " "
                                + announcement.onlyLocal()
                                + "\n")
                        .getBytes(StandardCharsets.UTF_8);
        List<byte[]> places = announcement.places();
        int length = places.stream().mapToInt(place -> place.length).max().orElse(0);
        ByteBuffer value = ByteBuffer.allocate(line.length + length * places.size()).put(line);
        for (byte[] place : places) {
            value.put(Arrays.copyOf(place, length));
        }
        return value.array();
    }

    @Override
    public Announcement decode(byte[] value, int size) {
        int end = 0;
        while (end < value.length && value[end] != '\n') {
            end++;
        }
        String[] words = new String(value, 0, end, StandardCharsets.UTF_8).split(" ", -1);
        int first = end + 1;
        if (first > value.length
                || (value.length - first) % size != 0
                || words.length != WORDS
                || words[1].isBlank()
                || !words[2].equals("true") && !words[2].equals("false")) {
            throw new MismatchException(
                    FailureContext.NONE,
                    "gloo: what a rank has announced in "
                            + value.length
                            + " bytes is not what this version of JCCL announces for "
                            + size
                            + " ranks; all ranks must use the same version, and nobody else the"
                            + " keys of this group in the store");
        }
        int length = (value.length - first) / size;
        List<byte[]> places = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            int from = first + rank * length;
            places.add(Arrays.copyOfRange(value, from, from + length));
        }
        return new Announcement(words[0], words[1], Boolean.parseBoolean(words[2]), places);
    }
}
