package org.jccl.training;

import org.jccl.DataType;
import org.jccl.Tensor;

/** One gradient: where the program has it, and where it lies in its bucket. */
final class Gradient {

    /** What has become of it in the current step. */
    enum State {
        /** Still to come. */
        WAITING,
        /** Being copied to its bucket. */
        COPYING,
        /** In its bucket. */
        READY
    }

    final String name;
    final DataType type;
    final long count;

    /** The program's own memory, or null where the gradient lives in its bucket. */
    final Tensor own;

    /** Guarded by the reducer's lock. */
    State state = State.WAITING;

    /** Whether it came while gradients were only accumulated; guarded by the reducer's lock. */
    boolean accumulated;

    /** Whether any rank had it in this step; guarded by the reducer's lock. */
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

    /** Whether the current step has not got it. */
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
