package org.jccl.cli;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * How many nodes a job has: a number, or torchrun's {@code MIN:MAX}.
 *
 * @param min fewest
 * @param max most
 * @param isElastic whether it was given as a range
 */
record NodeRange(int min, int max, boolean isElastic) {

    @Override
    public String toString() {
        return isElastic ? min + ":" + max : Integer.toString(min);
    }

    /** Reads a range from the command line. */
    static final class Reader implements ITypeConverter<NodeRange> {

        private static final Pattern FORM = Pattern.compile("(\\d{1,9})(?::(\\d{1,9}))?");

        @Override
        public NodeRange convert(String text) {
            Matcher found = FORM.matcher(text);
            if (!found.matches()) {
                throw new TypeConversionException(
                        "'" + text + "' is not a number of nodes, nor MIN:MAX");
            }
            int min = Integer.parseInt(found.group(1));
            int max = found.group(2) == null ? min : Integer.parseInt(found.group(2));
            return new NodeRange(min, max, found.group(2) != null);
        }
    }
}
