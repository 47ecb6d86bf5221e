package org.jccl.cli.bench;

import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads numbers of bytes as nccl-tests does: {@code 4}, {@code 64K}, {@code 16M}, {@code 1G}. */
public final class ByteSize implements ITypeConverter<Long> {

    /** Creates the converter. */
    public ByteSize() {}

    /**
     * Reads a size; K, M and G are powers of 1024, in any case, and may be fractions.
     *
     * @param text for instance {@code 0.5M}
     * @return bytes
     * @throws TypeConversionException if it is no size
     */
    @Override
    public Long convert(String text) {
        String upper = text.trim().toUpperCase(Locale.ROOT);
        int unit = upper.isEmpty() ? -1 : "KMG".indexOf(upper.charAt(upper.length() - 1));
        String number = unit < 0 ? upper : upper.substring(0, upper.length() - 1);
        long scale = 1L << 10 * (unit + 1);
        if (!number.matches("\\d{1,15}(\\.\\d{1,9})?")) {
            throw refused(text);
        }
        double bytes = Double.parseDouble(number) * scale;
        if (bytes != Math.rint(bytes) || bytes > 1L << 50) {
            throw refused(text);
        }
        return (long) bytes;
    }

    private static TypeConversionException refused(String text) {
        return new TypeConversionException(
                "'" + text + "' is not a size; write bytes, or a number with K, M or G, as 64K");
    }
}
