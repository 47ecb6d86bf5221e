package org.jccl.conformance;

import java.util.AbstractList;
import java.util.List;

/**
 * What a list is for a reader while another thread changes it: each element is another one the next
 * time.
 */
final class ChangingList<T> extends AbstractList<T> {

    private final List<T> first;
    private final List<T> later;
    private final boolean[] read;

    ChangingList(List<T> first, List<T> later) {
        this.first = first;
        this.later = later;
        this.read = new boolean[first.size()];
    }

    @Override
    public T get(int index) {
        boolean again = read[index];
        read[index] = true;
        return (again ? later : first).get(index);
    }

    @Override
    public int size() {
        return first.size();
    }
}
