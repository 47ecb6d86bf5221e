package org.jccl.hccl;

import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import org.jccl.FailureContext;
import org.jccl.NativeException;

/** The meaning of the error codes of the ACL runtime. */
final class CannErrors {

    private static final String LIBRARY = "libascendcl";

    private CannErrors() {}

    /** Throws for any code but success. */
    static void check(int code, String call) {
        if (code != Acl.SUCCESS) {
            throw of(code, call);
        }
    }

    /**
     * The exception for a failed call. Call it on the thread of the call, which has CANN's text.
     */
    static NativeException of(int code, String call) {
        return new NativeException(FailureContext.NONE, LIBRARY, code, call + ": " + text(code));
    }

    /** Returns whether a code means that the device has not enough memory. */
    static boolean isOutOfMemory(int code) {
        return code == 200000 || code == 207001 || code == 207018;
    }

    /** The meaning of a code, and the last text of CANN on this thread. */
    static String text(int code) {
        String recent = recentMessage();
        return describe(code) + (recent.isEmpty() ? "" : " (" + recent + ")");
    }

    /** The last text of CANN on this thread, which this call clears; empty if there is none. */
    static String recentMessage() {
        long text = Acl.aclGetRecentErrMsg();
        return text == 0
                ? ""
                : new Pointer(text).getString(0, StandardCharsets.UTF_8.name()).strip();
    }

    private static String describe(int code) {
        return switch (code) {
            case 100000, 107000 -> "an argument is not valid";
            case 100001 -> "ACL is not initialised";
            case Acl.COMPILING_STUB ->
                    "the library is a stub for linking; remove devlib from LD_LIBRARY_PATH";
            case 107001 -> "no such device";
            case 107002 -> "this thread has no device";
            case 107003 -> "the stream belongs to another device";
            case 107016 -> "memory of the wrong kind";
            case 107019, 107020 -> "a task timed out";
            case 107022, 107023 -> "the tasks were aborted";
            case Acl.NOT_SUPPORTED, 200006, 207000 ->
                    "the installed CANN or the device does not" + " support this";
            case 200000, 207001, 207018 -> "out of memory";
            case 207004 -> "no device was found";
            case 207005, 207007, 207008 ->
                    "the device has no events, streams or other resources left";
            case 507000, 507001, 507899 -> "internal error of the device's runtime";
            case 507010 -> "the device's heartbeat is lost";
            case 507011, 507014, 507015, 507017, 507018, 507900 ->
                    "a task failed on the device; in a collective, a lost peer can be the cause";
            case Acl.STREAM_SYNC_TIMEOUT, Acl.EVENT_SYNC_TIMEOUT -> "timed out";
            case 507053, 507054, 507055 -> "the device's memory has an error";
            case 507056, 507057 -> "a link between devices has an error";
            default -> "see the CANN manual";
        };
    }
}
