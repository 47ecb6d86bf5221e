package org.jccl.soak;

import java.time.Duration;
import java.util.List;
import java.util.Random;

/**
 * One world and what happens to it, all of it drawn from a seed.
 *
 * @param backend of the world
 * @param seed of all that is drawn
 * @param size number of ranks
 * @param fault what happens
 * @param phase when
 * @param delayMicros how long after the phase began
 * @param victim rank it happens to
 * @param steps that ranks run
 * @param meeting how ranks find each other
 * @param timeout of the group
 * @param drawnFrom the seed that the case can be drawn from again, or the case before it
 */
record Case(
        Backend backend,
        long seed,
        int size,
        Fault fault,
        Phase phase,
        int delayMicros,
        int victim,
        int steps,
        Assignment.Meeting meeting,
        Duration timeout,
        long drawnFrom) {

    /** When a fault happens; named as ranks report it. */
    enum Phase {
        JOINING,
        RUNNING,
        CLOSING
    }

    private static final int ENDLESS = 1_000_000;

    /** Draws a case. */
    static Case draw(Backend backend, long seed, List<Fault> faults, int ranks, int fixedSteps) {
        Random draw = new Random(seed);
        Fault fault = faults.get(draw.nextInt(faults.size()));
        int size = ranks > 0 ? ranks : 2 + draw.nextInt(3);
        int when = draw.nextInt(10);
        Phase phase =
                !fault.isSignal() || when < 6
                        ? Phase.RUNNING
                        : when < 8 ? Phase.JOINING : Phase.CLOSING;
        int most =
                switch (phase) {
                    case JOINING -> 60_000;
                    case RUNNING -> 600_000;
                    case CLOSING -> 20_000;
                };
        int delay = draw.nextInt(most);
        int victim = draw.nextInt(size);
        int steps =
                fault.fails() && phase == Phase.RUNNING
                        ? ENDLESS
                        : phase == Phase.CLOSING ? 20 : 100 + draw.nextInt(400);
        int way = draw.nextInt(6);
        Assignment.Meeting meeting =
                backend.isOneJob() || way < 3
                        ? Assignment.Meeting.STORE
                        : way < 5 ? Assignment.Meeting.RANK_ZERO : Assignment.Meeting.FILE;
        Duration timeout = Duration.ofSeconds(!fault.fails() ? 60 : fault == Fault.FREEZE ? 8 : 15);
        return new Case(
                backend,
                seed,
                size,
                fault,
                phase,
                delay,
                victim,
                fixedSteps > 0 ? fixedSteps : steps,
                meeting,
                timeout,
                seed);
    }

    /** A short one without faults, by the processes that are left. */
    Case afterwards(int survivors) {
        return new Case(
                backend,
                Values.mix(seed, 1),
                survivors,
                Fault.NONE,
                Phase.RUNNING,
                0,
                0,
                15,
                Assignment.Meeting.STORE,
                Duration.ofSeconds(60),
                seed);
    }

    /** Whether this one comes after the one that is drawn. */
    boolean isAfterwards() {
        return seed != drawnFrom;
    }
}
