package org.jccl.nccl;

import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.javacpp.Pointer;

/**
 * Pointers whose address is set before each call, so that calls make no garbage. An object serves
 * one thread at a time.
 */
final class NativeHandles {

    private NativeHandles() {}

    /** Memory. */
    static final class Address extends Pointer {
        Address() {}

        Address at(long value) {
            address = value;
            return this;
        }
    }

    /** A stream. */
    static final class StreamHandle extends CUstream_st {
        StreamHandle() {}

        StreamHandle at(long value) {
            address = value;
            return this;
        }
    }

    /** An event. */
    static final class EventHandle extends CUevent_st {
        EventHandle() {}

        EventHandle at(long value) {
            address = value;
            return this;
        }
    }
}
