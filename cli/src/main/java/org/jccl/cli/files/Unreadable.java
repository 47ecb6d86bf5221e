package org.jccl.cli.files;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A file that one rank wrote and that cannot be read, which must not hide those of the others.
 *
 * @param file the file
 * @param reason why, as the end of a sentence about it
 */
public record Unreadable(Path file, String reason) {

    /**
     * Explains a failure.
     *
     * @param file the file
     * @param failure what its parser threw
     * @return the reason in words of the user
     */
    public static Unreadable of(Path file, IOException failure) {
        return new Unreadable(file, reason(file, failure));
    }

    private static String reason(Path file, IOException failure) {
        if (file.toFile().length() == 0) {
            return "it is empty: its rank was killed before it wrote, or the disk was full";
        }
        if (failure instanceof JsonEOFException cut) {
            return "it is cut off in line "
                    + cut.getLocation().getLineNr()
                    + ": its rank was killed while it wrote, or the disk was full";
        }
        if (failure instanceof JsonProcessingException json && json.getLocation() != null) {
            return "it is not JSON in line "
                    + json.getLocation().getLineNr()
                    + ", column "
                    + json.getLocation().getColumnNr();
        }
        return String.valueOf(failure.getMessage());
    }

    @Override
    public String toString() {
        return file.getFileName() + " is ignored: " + reason;
    }
}
