package org.jccl.cli.ranktable;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableFormat;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Makes tables. */
@Command(
        name = "generate",
        description = {
            "Make a rank table, in one of three ways:",
            "with the arguments of tpu_gen_sccl_rank_table,",
            "  --device_id \"[[0,1,2,3]]\" [--device_ip LISTS] [--emulator True]",
            "from hosts and devices,",
            "  --format hccl --hosts HOST,HOST --devices 0-7 --device-ips IP,.../IP,...",
            "or from a table in another form,",
            "  --from FILE [--format hccl]"
        },
        mixinStandardHelpOptions = true,
        sortOptions = false)
final class GenerateCommand implements Callable<Integer> {

    private static final Map<String, RankTableFormat> FORMATS =
            Map.of(
                    "sccl", RankTableFormat.SCCL_1_0,
                    "hccl", RankTableFormat.HCCL_1_0,
                    "hccl-1.2", RankTableFormat.HCCL_1_2,
                    "hccl-2.0", RankTableFormat.HCCL_2_0);

    private static final List<String> ALL =
            List.of(
                    "--device_ip",
                    "--emulator",
                    "--format",
                    "--hosts",
                    "--device-ips",
                    "--super-pods",
                    "--super-devices",
                    "--layer");

    @Spec private CommandSpec spec;

    @ArgGroup(exclusive = true, multiplicity = "1")
    private Source source;

    /** The source of the devices. */
    private static final class Source {

        @Option(
                names = "--device_id",
                paramLabel = "LISTS",
                description = "A list for each node with the device of each local rank.")
        private String deviceId;

        @Option(
                names = "--devices",
                paramLabel = "LIST",
                description =
                        "Devices, such as 0-3,6: for all hosts, or a part for each with slashes"
                                + " between them.")
        private String devices;

        @Option(names = "--from", paramLabel = "FILE", description = "A table to convert.")
        private Path from;
    }

    @Option(
            names = "--device_ip",
            paramLabel = "LISTS",
            description = "A list for each node with the address of each device.")
    private String deviceIp;

    @Option(
            names = "--emulator",
            arity = "0..1",
            fallbackValue = "True",
            paramLabel = "True",
            description = "Write SCCL addresses as device_ip_emulator; any text counts as true.")
    private String emulator = "";

    @Option(
            names = "--format",
            paramLabel = "FORMAT",
            description = "sccl (default), hccl, hccl-1.2 or hccl-2.0.")
    private String format;

    @Option(
            names = "--hosts",
            split = ",",
            paramLabel = "HOST",
            description = "The hosts, best by their IP addresses. SCCL needs none.")
    private List<String> hosts;

    @Option(
            names = "--device-ips",
            paramLabel = "LIST",
            description = "The address of each device, a part for each host.")
    private String deviceIps;

    @Option(
            names = "--super-pods",
            split = ",",
            paramLabel = "POD",
            description = "The super pod of all hosts, or of each.")
    private List<String> superPods;

    @Option(
            names = "--super-devices",
            paramLabel = "LIST",
            description = "The number of each device in its super pod, a part for each host.")
    private String superDevices;

    @Option(
            names = "--layer",
            paramLabel = "LAYER:PORTS[:PLANE[:NETWORK]]=LIST",
            description =
                    "For hccl-2.0: the address of each device in a layer of networks, a part for"
                            + " each host, and the ports that have it, such as"
                            + " 1:0/4+0/5:plane0:az0=IP,IP/IP,IP; once or more for each layer. The"
                            + " network of layer 0 is the host.")
    private List<String> layers;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description =
                    "Where to write. The default with --device_id is RANK_TABLE_FILE or "
                            + ScclTool.FILE
                            + ", as for the tool, else standard output, which is also -.")
    private Path output;

    @Override
    public Integer call() {
        RankTable table;
        if (source.deviceId != null) {
            refuseAllBut("--device_id", List.of("--device_ip", "--emulator"));
            try {
                table = ScclTool.table(source.deviceId, deviceIp, emulator());
            } catch (IllegalArgumentException e) {
                throw new ExecutionException(
                        spec.commandLine(), e.getMessage()); // the tool ends with 1, too
            }
            if (output == null) {
                output = TableFile.ofEnvironment(System.getenv()).orElse(Path.of(ScclTool.FILE));
            }
        } else if (source.devices != null) {
            refuseAllBut("--devices", ALL.subList(1, ALL.size()));
            table = fromHosts();
        } else {
            refuseAllBut("--from", List.of("--format"));
            RankTable old = RankTable.read(source.from);
            table = format == null ? old : old.convertTo(format());
        }
        return write(table);
    }

    private RankTable fromHosts() {
        try {
            return new HostLists(source.devices, hosts)
                    .table(format(), deviceIps, superPods, superDevices, layers, emulator());
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
    }

    private RankTableFormat format() {
        RankTableFormat found = format == null ? RankTableFormat.SCCL_1_0 : FORMATS.get(format);
        if (found == null) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--format " + format + ": give sccl, hccl, hccl-1.2 or hccl-2.0");
        }
        return found;
    }

    /** The tool counts any text as true, so "False" gets a warning. */
    private boolean emulator() {
        if (emulator.equalsIgnoreCase("false") || emulator.equals("0")) {
            PrintWriter err = spec.commandLine().getErr();
            err.println(
                    "warning: --emulator "
                            + emulator
                            + " counts as true, as for tpu_gen_sccl_rank_table: leave it out");
            err.flush();
        }
        return !emulator.isEmpty();
    }

    private void refuseAllBut(String source, List<String> allowed) {
        for (String option : ALL) {
            if (!allowed.contains(option)
                    && spec.commandLine().getParseResult().hasMatchedOption(option)) {
                throw new ParameterException(
                        spec.commandLine(), option + " cannot be combined with " + source);
            }
        }
    }

    private int write(RankTable table) {
        PrintWriter err = spec.commandLine().getErr();
        table.warnings().forEach(fault -> err.println("warning: " + fault));
        err.flush();
        PrintWriter out = spec.commandLine().getOut();
        if (output == null || output.toString().equals("-")) {
            out.println(table.toJson());
            out.flush();
            return 0;
        }
        try {
            Files.writeString(output, table.toJson());
        } catch (IOException e) {
            throw new ExecutionException(spec.commandLine(), output + " cannot be written: " + e);
        }
        out.println(output + ": " + table);
        TableFile.warning(output, table).ifPresent(text -> out.println("warning: " + text));
        out.flush();
        return 0;
    }
}
