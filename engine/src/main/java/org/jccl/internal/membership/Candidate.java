package org.jccl.internal.membership;

import java.util.Map;
import java.util.TreeMap;

/**
 * One rank's part in the agreement that {@linkplain org.jccl.internal.membership this package}
 * describes, as a state machine: each step is one request to the store. A test walks all
 * interleavings of the steps of three candidates.
 */
final class Candidate {

    /** What the next step does. */
    enum State {
        OPENING,
        ANNOUNCING,
        GATHERING,
        COUNTING,
        CHECKING,
        DECIDING,
        FORMING,
        REPORTING,
        CLAIMING,
        AWAITING,
        OUTSIDE,
        ABANDONING,
        MADE,
        /** Another candidate took the slot later. */
        DISPLACED
    }

    /** After the id of a member of the last generation. */
    private static final String STAYS = "*";

    private final int slot;
    private final String id;
    private final int size;
    private final int minimum;

    private State state = State.OPENING;

    /** The last generation of which this candidate was a member. */
    private int from = OpenAttempt.NONE;

    private OpenAttempt open = OpenAttempt.parse("");
    private Members members = Members.NONE;

    /**
     * Creates a candidate that has been in no generation.
     *
     * @param slot from 0 to {@code size - 1}
     * @param id differs from all other candidates, of letters, digits and hyphens
     * @param size number of slots
     * @param minimum how many members a generation has at least
     */
    Candidate(int slot, String id, int size, int minimum) {
        this.slot = slot;
        this.id = id;
        this.size = size;
        this.minimum = minimum;
    }

    /** Copies a candidate with its state. */
    Candidate(Candidate other) {
        this(other.slot, other.id, other.size, other.minimum);
        state = other.state;
        from = other.from;
        open = other.open;
        members = other.members;
    }

    State state() {
        return state;
    }

    /** Returns the attempt that this candidate takes part in. */
    int attempt() {
        return open.number();
    }

    /** Returns the last generation of which this candidate was a member, or a negative number. */
    int generation() {
        return from;
    }

    /** Returns the last generation before the attempt, or a negative number. */
    int lastGeneration() {
        return open.last();
    }

    /** Returns the members of the attempt, once they are decided. */
    Members members() {
        return members;
    }

    /** Leaves the generation, to enter the next attempt. */
    void leave() {
        state = State.OPENING;
        members = Members.NONE;
    }

    /** Says whether the group of the attempt was formed. */
    void formed(boolean success) {
        state = success ? State.REPORTING : State.ABANDONING;
    }

    /**
     * Makes the next step.
     *
     * @param late whether this candidate has waited long enough in its state
     */
    void step(MembershipKeys keys, boolean late) {
        switch (state) {
            case OPENING -> enter(OpenAttempt.parse(keys.read(MembershipKeys.OPEN)));
            case ANNOUNCING -> {
                boolean stays = from >= 0 && from == open.last();
                keys.announce(attempt(), slot, stays ? id + STAYS : id);
                state = State.GATHERING;
            }
            case GATHERING -> {
                String decided = keys.read(MembershipKeys.members(attempt()));
                if (decided.isEmpty()) {
                    state = State.COUNTING;
                } else {
                    decided(decided);
                }
            }
            case COUNTING -> count(keys, late);
            case CHECKING -> check(OpenAttempt.parse(keys.read(MembershipKeys.OPEN)));
            case DECIDING ->
                    decided(keys.compareSet(MembershipKeys.members(attempt()), "", members.text()));
            case REPORTING -> {
                long finished = keys.count(MembershipKeys.finished(attempt()));
                state = finished == members.size() ? State.CLAIMING : State.AWAITING;
            }
            case CLAIMING -> end(keys, true);
            case AWAITING, OUTSIDE -> await(keys, late);
            case ABANDONING -> end(keys, false);
            case FORMING, MADE, DISPLACED -> throw new IllegalStateException(state.toString());
        }
    }

    private void enter(OpenAttempt now) {
        open = now;
        members = Members.NONE;
        state = State.ANNOUNCING;
    }

    private void count(MembershipKeys keys, boolean late) {
        Map<Integer, String> present = keys.present(attempt(), size);
        String own = present.get(slot);
        state = State.CHECKING;
        if (own == null) {
            // The attempt has ended long ago, and its keys were deleted.
            return;
        }
        if (!idOf(own).equals(id)) {
            state = State.DISPLACED;
        } else if (present.size() == size || late && mayDecideWithout(present, keys)) {
            TreeMap<Integer, String> ids = new TreeMap<>();
            present.forEach((each, text) -> ids.put(each, idOf(text)));
            members = new Members(ids);
            state = State.DECIDING;
        }
    }

    /** An attempt that has ended must not be waited for. */
    private void check(OpenAttempt now) {
        if (now.number() == open.number()) {
            state = State.GATHERING;
        } else {
            enter(now);
        }
    }

    /** Whether the present candidates may continue without the others. */
    private boolean mayDecideWithout(Map<Integer, String> present, MembershipKeys keys) {
        if (present.size() < minimum) {
            return false;
        }
        if (open.last() == OpenAttempt.NONE) {
            return true;
        }
        if (present.values().stream().anyMatch(each -> each.endsWith(STAYS))) {
            return true;
        }
        String text = keys.read(MembershipKeys.members(open.last()));
        if (text.isEmpty()) {
            return false;
        }
        Members last = Members.parse(text);
        return last.replacedBy(present).equals(last.slots());
    }

    static String idOf(String text) {
        return text.endsWith(STAYS) ? text.substring(0, text.length() - 1) : text;
    }

    private void decided(String text) {
        members = Members.parse(text);
        state = members.has(slot, id) ? State.FORMING : State.OUTSIDE;
    }

    private void await(MembershipKeys keys, boolean late) {
        if (late || members.hasOther(slot, id)) {
            end(keys, false);
        } else {
            concluded(OpenAttempt.parse(keys.read(MembershipKeys.OPEN)));
        }
    }

    private void end(MembershipKeys keys, boolean made) {
        String now = keys.compareSet(MembershipKeys.OPEN, open.text(), open.ended(made).text());
        concluded(OpenAttempt.parse(now));
    }

    /** Reads how the attempt ended, unless it is still open. */
    private void concluded(OpenAttempt now) {
        if (now.number() == open.number()) {
            return;
        }
        if (now.last() == open.number() && members.has(slot, id)) {
            from = open.number();
            state = State.MADE;
        } else {
            enter(now);
        }
    }
}
