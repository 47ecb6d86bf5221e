package org.jccl.sccl.abi;

import com.sun.jna.Structure;

/** scclUniqueId: text that names a communicator to the driver, padded with zeros. */
@Structure.FieldOrder("internal")
public class UniqueId extends Structure {

    /** Size of the structure. */
    public static final int BYTES = 128;

    /** The text. */
    public byte[] internal = new byte[BYTES];

    /** Creates one of zeros. */
    public UniqueId() {}

    /** Passed on the stack, as scclCommInitRank wants it. */
    public static final class ByValue extends UniqueId implements Structure.ByValue {

        /**
         * Creates a copy.
         *
         * @param id {@link #BYTES} bytes
         */
        public ByValue(byte[] id) {
            System.arraycopy(id, 0, internal, 0, BYTES);
        }

        /** Creates one of zeros, for JNA. */
        public ByValue() {}
    }
}
