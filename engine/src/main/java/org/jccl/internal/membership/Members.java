package org.jccl.internal.membership;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The members of an attempt.
 *
 * @param ids the id of each member, by slot
 */
record Members(SortedMap<Integer, String> ids) {

    static final Members NONE = new Members(new TreeMap<>());

    static Members parse(String text) {
        SortedMap<Integer, String> ids = new TreeMap<>();
        for (String member : text.split(",")) {
            int equals = member.indexOf('=');
            ids.put(Integer.valueOf(member.substring(0, equals)), member.substring(equals + 1));
        }
        return new Members(ids);
    }

    String text() {
        return ids.entrySet().stream()
                .map(member -> member.getKey() + "=" + member.getValue())
                .collect(Collectors.joining(","));
    }

    List<Integer> slots() {
        return List.copyOf(ids.keySet());
    }

    int size() {
        return ids.size();
    }

    boolean has(int slot, String id) {
        return id.equals(ids.get(slot));
    }

    /** Whether somebody else is the member in a slot. */
    boolean hasOther(int slot, String id) {
        String member = ids.get(slot);
        return member != null && !member.equals(id);
    }

    /** Returns the slots in which another candidate has announced itself. */
    List<Integer> replacedBy(Map<Integer, String> announced) {
        return slots().stream()
                .filter(announced::containsKey)
                .filter(slot -> hasOther(slot, Candidate.idOf(announced.get(slot))))
                .toList();
    }
}
