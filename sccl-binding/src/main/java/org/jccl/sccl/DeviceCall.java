package org.jccl.sccl;

/**
 * Calls of the libraries that a {@link DeviceThread} makes for another thread. One object can be
 * used again after its calls have returned, by one thread at a time.
 */
abstract class DeviceCall {

    /** How far the calls are. Guarded by the device's thread object, but readable without. */
    enum State {
        /** Not handed over, or over. */
        IDLE,
        /** Behind other calls. */
        QUEUED,
        /** The device's thread is inside. */
        RUNNING
    }

    private volatile State state = State.IDLE;

    /** The thread that waits for the calls. */
    private volatile Thread caller;

    /** What the calls threw, or null. Written before the state becomes idle. */
    private Throwable failure;

    /** The next call of the queue. Guarded by the device's thread object. */
    private DeviceCall next;

    /** Makes the calls, on the device's thread. */
    abstract void run();

    final State state() {
        return state;
    }

    final void become(State newState) {
        state = newState;
    }

    final void calledBy(Thread thread) {
        caller = thread;
    }

    final Thread caller() {
        return caller;
    }

    final void end(Throwable thrown) {
        failure = thrown;
        state = State.IDLE;
    }

    final Throwable takeFailure() {
        Throwable thrown = failure;
        failure = null;
        return thrown;
    }

    final DeviceCall next() {
        return next;
    }

    final void setNext(DeviceCall following) {
        next = following;
    }
}
