package org.jccl.training;

import org.jccl.DataType;
import org.jccl.Tensor;

/** One gradient: its memory in the program and in its bucket. */
final class Gradient {

    /** The state of a gradient in the current step. */
    enum State {
        /** Not ready. */
        WAITING,
        /** Being copied to its bucket. */
        COPYING,
        /** In its bucket. */
        READY
    }

    final String name;
    final DataType type;
    final long count;

    /** The program's memory, or null if the gradient exists only in its bucket. */
    final Tensor own;

    /** Guarded by the reducer's lock. */
    State state = State.WAITING;

    /** Whether it became ready in a noSync scope; guarded by the reducer's lock. */
    boolean accumulated;

    /** Whether any rank used it in this step; guarded by the reducer's lock. */
    boolean usedAnywhere = true;

    Bucket bucket;

    /** Its elements in the bucket. */
    Tensor view;

    Gradient(String name, DataType type, long count, Tensor own) {
        this.name = name;
        this.type = type;
        this.count = count;
        this.own = own;
    }

    /** Returns whether it is not ready in the current step. */
    boolean isMissing() {
        return state == State.WAITING;
    }

    long byteSize() {
        return count * type.size();
    }

    void copyToBucket() {
        if (own != null) {
            view.copyFrom(own);
        }
    }

    void copyFromBucket() {
        if (own != null) {
            own.copyFrom(view);
        }
    }

    @Override
    public String toString() {
        return "'" + name + "' (" + type + " x " + count + ")";
    }
}
