package org.jccl.cli;

import java.util.Map;
import java.util.TreeMap;
import org.jccl.launch.OutputStreams;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Torchrun's choice of streams: a number for all ranks, as {@code 3}, or for single local ranks, as
 * {@code 0:1,1:2}.
 *
 * @param all for all ranks, or null
 * @param some for single ranks
 */
record StreamChoice(OutputStreams all, Map<Integer, OutputStreams> some) {

    /** Whether a choice, which may be null, is the same for all ranks. */
    static boolean isOfAll(StreamChoice choice) {
        return choice == null || choice.all != null;
    }

    /** The choice for each of the first local ranks. */
    Map<Integer, OutputStreams> ofRanks(int ranks) {
        if (all == null) {
            return some;
        }
        Map<Integer, OutputStreams> each = new TreeMap<>();
        for (int rank = 0; rank < ranks; rank++) {
            each.put(rank, all);
        }
        return each;
    }

    /** Reads a choice from the command line. */
    static final class Reader implements ITypeConverter<StreamChoice> {

        @Override
        public StreamChoice convert(String text) {
            if (text.matches("[0-3]")) {
                return new StreamChoice(streams(text), Map.of());
            }
            if (!text.matches("\\d{1,4}:[0-3](,\\d{1,4}:[0-3])*")) {
                throw new TypeConversionException(
                        "'"
                                + text
                                + "' is not 0 (none), 1 (output), 2 (errors) or 3 (both), nor such"
                                + " a number for single local ranks, as 0:1,1:2");
            }
            Map<Integer, OutputStreams> some = new TreeMap<>();
            for (String one : text.split(",")) {
                String[] parts = one.split(":");
                some.put(Integer.valueOf(parts[0]), streams(parts[1]));
            }
            return new StreamChoice(null, some);
        }

        private static OutputStreams streams(String number) {
            return OutputStreams.values()[Integer.parseInt(number)];
        }
    }
}
