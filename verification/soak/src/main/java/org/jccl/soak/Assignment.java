package org.jccl.soak;

import java.time.Duration;
import java.util.Locale;

/**
 * What a process does as a rank of one world.
 *
 * @param meeting how the ranks find each other
 * @param place port, {@code host:port} or file of the store
 * @param rank in the world
 * @param size of the world
 * @param seed of the steps
 * @param steps how many
 * @param timeout of the group
 * @param late whether ranks come late to some steps
 * @param joinDelay milliseconds by which this one comes late to the world
 * @param own what this rank does to its own world
 * @param ownDelay milliseconds until then
 * @param asynchronous whether no call is synchronous, because one that fails would end the job
 */
record Assignment(
        Meeting meeting,
        String place,
        int rank,
        int size,
        long seed,
        int steps,
        Duration timeout,
        boolean late,
        int joinDelay,
        Own own,
        int ownDelay,
        boolean asynchronous) {

    /** How ranks find each other. */
    enum Meeting {
        /** A store of the driver's. */
        STORE,
        /** Rank 0 serves the store. */
        RANK_ZERO,
        /** A file. */
        FILE
    }

    /** A fault of this rank's own making. */
    enum Own {
        NOTHING,
        ABORT,
        CLOSE
    }

    String line() {
        return String.format(
                Locale.ROOT,
                "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%b\t%d\t%s\t%d\t%b",
                meeting,
                place,
                rank,
                size,
                seed,
                steps,
                timeout.toMillis(),
                late,
                joinDelay,
                own,
                ownDelay,
                asynchronous);
    }

    static Assignment parse(String line) {
        String[] fields = line.split("\t");
        return new Assignment(
                Meeting.valueOf(fields[0]),
                fields[1],
                Integer.parseInt(fields[2]),
                Integer.parseInt(fields[3]),
                Long.parseLong(fields[4]),
                Integer.parseInt(fields[5]),
                Duration.ofMillis(Long.parseLong(fields[6])),
                Boolean.parseBoolean(fields[7]),
                Integer.parseInt(fields[8]),
                Own.valueOf(fields[9]),
                Integer.parseInt(fields[10]),
                Boolean.parseBoolean(fields[11]));
    }
}
