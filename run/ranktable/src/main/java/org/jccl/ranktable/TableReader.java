package org.jccl.ranktable;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jccl.ranktable.json.Json;
import org.jccl.ranktable.json.JsonReader;

/** Detects the form of a table and reads it. */
final class TableReader {

    private static final List<String> LISTS =
            List.of("node_list", "server_list", "rank_list", "group_list");

    private TableReader() {}

    /**
     * Reads a table.
     *
     * @param name the table's name in messages
     * @param text the JSON text
     * @throws RankTableException with all faults
     */
    static RankTable read(String name, String text) {
        Faults faults = new Faults();
        Optional<Json> json = JsonReader.read(text, faults::add);
        if (json.isEmpty()) {
            faults.throwIfAny(name);
        }
        return read(name, json.orElseThrow(), faults);
    }

    /** Reads a parsed table; {@code faults} may have some already. */
    static RankTable read(String name, Json json, Faults faults) {
        Element table = Element.root(json, faults);
        Optional<RankTableFormat> format = format(table);
        List<RankEntry> entries = List.of();
        if (format.isPresent()) {
            Devices devices =
                    switch (format.get()) {
                        case SCCL_1_0 -> NodeListReader.read(table);
                        case HCCL_GROUP_LIST -> GroupListReader.read(table);
                        case HCCL_2_0 -> RankListReader.read(table);
                        default -> ServerListReader.read(table, format.get());
                    };
            faults.throwIfAny(name);
            entries = devices.entries();
        }
        faults.throwIfAny(name);
        return new RankTable(format.orElseThrow(), entries, json, faults.refusals());
    }

    private static Optional<RankTableFormat> format(Element table) {
        List<String> lists = LISTS.stream().filter(table::has).toList();
        Optional<Element> version = table.field("version");
        if (lists.isEmpty()) {
            table.fault(
                    "is not a rank table: a node_list, a server_list, a rank_list or a group_list"
                            + " is missing");
            return Optional.empty();
        }
        for (String other : lists.subList(1, lists.size())) {
            table.field(other)
                    .orElseThrow()
                    .fault(
                            "is present together with "
                                    + lists.get(0)
                                    + ": a table has only one of these"
                                    + " lists");
        }
        return switch (lists.get(0)) {
            case "node_list" -> Optional.of(RankTableFormat.SCCL_1_0);
            case "group_list" -> Optional.of(RankTableFormat.HCCL_GROUP_LIST);
            case "rank_list" -> rankList(table);
            default -> serverList(table, version);
        };
    }

    private static Optional<RankTableFormat> rankList(Element table) {
        Optional<Element> version = table.required("version", "write \"2.0\"");
        version.filter(at -> !at.text().orElse("2.0").equals("2.0"))
                .ifPresent(at -> at.fault("is " + at.describe() + ": write \"2.0\""));
        return Optional.of(RankTableFormat.HCCL_2_0);
    }

    /** SCCL has server_ip where HCCL has server_id, and may need no version. */
    private static Optional<RankTableFormat> serverList(Element table, Optional<Element> version) {
        String number = version.flatMap(Element::scalar).orElse("");
        Stream<Element> servers = table.field("server_list").orElseThrow().items().stream();
        List<Element> objects = servers.filter(Element::isObject).toList();
        boolean sccl =
                objects.stream().anyMatch(server -> server.has("server_ip"))
                        && objects.stream().noneMatch(server -> server.has("server_id"));
        boolean unquoted = !sccl && version.isPresent() && version.get().isNumber();
        if (unquoted) {
            version.get()
                    .fault(
                            "is "
                                    + version.get().describe()
                                    + ": HCCL reads text only, write \""
                                    + (number.equals("1.2") ? "1.2" : "1.0")
                                    + '"');
        }
        if (number.equals("1.2")) {
            return Optional.of(RankTableFormat.HCCL_1_2);
        }
        if (version.isEmpty() && !sccl) {
            table.missing("version", "write \"1.0\", or \"1.2\" with super pods");
        }
        if (version.isPresent() && !unquoted && !number.equals("1.0")) {
            Element at = version.get();
            String say =
                    sccl ? "write \"1.0\"" : "give \"1.0\" or \"1.2\", or a rank_list for \"2.0\"";
            at.fault("is " + at.describe() + ": " + say);
        }
        return Optional.of(sccl ? RankTableFormat.SCCL_SERVER_LIST : RankTableFormat.HCCL_1_0);
    }
}
