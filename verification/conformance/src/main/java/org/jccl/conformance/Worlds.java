package org.jccl.conformance;

import java.util.Map;
import java.util.TreeMap;
import org.jccl.ProcessGroup;

/**
 * The worlds of one process, one of each size, that cases use one after the other. On real devices
 * a communicator takes seconds to form, and a suite would form hundreds. For one thread at a time.
 */
final class Worlds implements AutoCloseable {

    /** The name of no world. */
    static final String NONE = "-";

    private record World(String name, ProcessGroup group) {}

    private final Map<Integer, World> worlds = new TreeMap<>();

    /** What all ranks call the world of a size, or {@link #NONE}. */
    String name(int size) {
        World world = worlds.get(size);
        return world == null ? NONE : world.name();
    }

    /** Takes the world of a size out, or returns null. */
    ProcessGroup take(int size) {
        World world = worlds.remove(size);
        return world == null ? null : world.group();
    }

    /** Keeps a world for the next case; each size has one at most. */
    void keep(int size, String name, ProcessGroup group) {
        worlds.put(size, new World(name, group));
    }

    /** Closes the worlds, in the same order on all ranks. */
    @Override
    public void close() {
        worlds.values().forEach(world -> world.group().close());
        worlds.clear();
    }
}
