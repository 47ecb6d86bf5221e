package org.jccl.ranktable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** The devices of a table while it is read, and the rules that hold in every format. */
final class Devices {

    /** The most missing ranks that a message names. */
    private static final int NAMED = 10;

    private final List<Node> nodes = new ArrayList<>();

    /** A node and its devices, in the order of the table. */
    static final class Node {

        final int index;
        final Element at;
        final String id;
        final List<Row> rows = new ArrayList<>();
        Optional<String> superPod = Optional.empty();

        Node(int index, Element at, String id) {
            this.index = index;
            this.at = at;
            this.id = id;
        }
    }

    /**
     * A device. Numbers that could not be read are {@link Element#UNKNOWN}, and a fault already.
     *
     * @param at the device's object
     * @param rankAt the element of its rank
     * @param rank its rank
     * @param localRank its rank on the node, or unknown if the order determines it
     * @param device its number
     * @param ips its addresses
     * @param superDevice its number in the super pod
     */
    record Row(
            Element at,
            Optional<Element> rankAt,
            int rank,
            int localRank,
            int device,
            List<String> ips,
            OptionalLong superDevice) {

        Row withRank(int newRank) {
            return new Row(at, rankAt, newRank, localRank, device, ips, superDevice);
        }

        Row withLocalRank(int newLocalRank) {
            return new Row(at, rankAt, rank, newLocalRank, device, ips, superDevice);
        }
    }

    Node add(Element at, String id) {
        Node node = new Node(nodes.size(), at, id);
        nodes.add(node);
        return node;
    }

    List<Node> nodes() {
        return nodes;
    }

    List<Row> rows() {
        return nodes.stream().flatMap(node -> node.rows.stream()).toList();
    }

    /** No device of a node may serve two ranks. */
    void checkDevices(String key) {
        for (Node node : nodes) {
            Map<Integer, Element> seen = new HashMap<>();
            for (Row row : node.rows) {
                row.at()
                        .field(key)
                        .filter(field -> row.device() != Element.UNKNOWN)
                        .ifPresent(field -> checkUnique(seen, row.device(), field));
            }
        }
    }

    /** Ranks must be 0 to number of devices - 1, each once. */
    void checkRanks(Element list) {
        List<Row> rows = rows();
        Map<Integer, Element> seen = new HashMap<>();
        boolean complete = true;
        for (Row row : rows) {
            if (row.rank() == Element.UNKNOWN || row.rankAt().isEmpty()) {
                complete = false;
                continue;
            }
            Element at = row.rankAt().get();
            checkUnique(seen, row.rank(), at);
            if (row.rank() >= rows.size()) {
                at.fault(
                        "is "
                                + row.rank()
                                + ", but ranks go from 0 to "
                                + (rows.size() - 1)
                                + ", one for each device");
            }
        }
        if (complete) {
            List<String> missing = new ArrayList<>();
            int count = 0;
            for (int rank = 0; rank < rows.size(); rank++) {
                if (!seen.containsKey(rank) && ++count <= NAMED) {
                    missing.add(Integer.toString(rank));
                }
            }
            if (count > 0) {
                String more = count > NAMED ? " and " + (count - NAMED) + " more" : "";
                list.fault("has no rank " + String.join(", ", missing) + more);
            }
        }
    }

    /** Reports a fault if another element has the same value. */
    static <T> void checkUnique(Map<T, Element> seen, T value, Element at) {
        Element first = seen.putIfAbsent(value, at);
        if (first != null) {
            at.fault("is " + at.describe() + ", as is " + first.path() + ": each may appear once");
        }
    }

    /** Assigns local ranks in the order of ranks. */
    void localRanksByRank() {
        for (Node node : nodes) {
            node.rows.sort(Comparator.comparingInt(Row::rank));
            for (int i = 0; i < node.rows.size(); i++) {
                node.rows.set(i, node.rows.get(i).withLocalRank(i));
            }
        }
    }

    /** The ranks in order; only for tables without a fault. */
    List<RankEntry> entries() {
        List<RankEntry> entries = new ArrayList<>();
        for (Node node : nodes) {
            for (Row row : node.rows) {
                entries.add(
                        new RankEntry(
                                row.rank(),
                                node.index,
                                node.id,
                                row.localRank(),
                                row.device(),
                                row.ips(),
                                row.superDevice(),
                                node.superPod));
            }
        }
        entries.sort(Comparator.comparingInt(RankEntry::rank));
        return entries;
    }
}
