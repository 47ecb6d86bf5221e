package org.jccl.cli;

import java.util.Locale;
import org.jccl.cli.info.Bindings;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a number of ranks, or torchrun's words for the processors or devices of this host. */
final class RankCount implements ITypeConverter<Integer> {

    @Override
    public Integer convert(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "cpu" -> processors();
            case "gpu", "xpu" -> {
                int devices = Bindings.devices();
                if (devices == 0) {
                    throw new TypeConversionException(
                            "'"
                                    + text
                                    + "' needs devices, and no backend finds any: see 'jccl info',"
                                    + " or give a number or cpu");
                }
                yield devices;
            }
            case "auto" -> {
                int devices = Bindings.devices();
                yield devices > 0 ? devices : processors();
            }
            default -> number(text);
        };
    }

    private static int processors() {
        return Runtime.getRuntime().availableProcessors();
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new TypeConversionException(
                    "'" + text + "' is not a number of ranks, nor auto, cpu, gpu or xpu");
        }
    }
}
