package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.MismatchException;

/**
 * Any bytes are what a rank announces, which written again is the same, or are refused. The first
 * byte of the input chooses the number of ranks and the format.
 */
class AnnouncementFuzzTest {

    private static final int SIZES = 8;

    private static final List<AnnouncementFormat> FORMATS =
            List.of(new OwnAnnouncementFormat(), new TorchAnnouncementFormat());

    @FuzzTest
    void readsOrRefuses(byte[] bytes) {
        if (bytes.length == 0) {
            return;
        }
        int size = 2 + (bytes[0] & 0xFF) % SIZES;
        AnnouncementFormat format = FORMATS.get((bytes[0] & 0xFF) / SIZES % FORMATS.size());
        Announcement announcement;
        try {
            announcement = format.decode(Arrays.copyOfRange(bytes, 1, bytes.length), size);
        } catch (MismatchException refused) {
            assertThat(refused).hasMessageContaining("the announcement of a rank");
            return;
        }
        assertThat(announcement.host()).isNotNull();
        assertThat(announcement.address()).isNotBlank();
        assertThat(announcement.endpoint(size - 1)).hasSize(Announcement.PORT_BYTES + Long.BYTES);
        if (format instanceof TorchAnnouncementFormat) {
            // AF_INET and AF_INET6.
            assertThat(announcement.endpoint(0)[0]).isIn((byte) 2, (byte) 10);
        }
        Announcement again = format.decode(format.encode(announcement, size), size);
        assertThat(text(again, size)).isEqualTo(text(announcement, size));
    }

    private static String text(Announcement announcement, int size) {
        return announcement.host()
                + announcement.address()
                + announcement.onlyLocal()
                + HexFormat.of().formatHex(announcement.port())
                + IntStream.range(0, size).mapToObj(announcement::number).toList();
    }
}
