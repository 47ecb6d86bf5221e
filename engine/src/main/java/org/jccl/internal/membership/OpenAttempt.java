package org.jccl.internal.membership;

/**
 * The value of the key that says how far the candidates have come.
 *
 * @param number the open attempt
 * @param last the last attempt that was made, or {@link #NONE}
 */
record OpenAttempt(int number, int last) {

    static final int NONE = -1;

    /** Before any attempt has ended, the key is missing, which a store reads as an empty text. */
    private static final OpenAttempt FIRST = new OpenAttempt(0, NONE);

    static OpenAttempt parse(String text) {
        if (text.isEmpty()) {
            return FIRST;
        }
        int space = text.indexOf(' ');
        return new OpenAttempt(
                Integer.parseInt(text.substring(0, space)),
                Integer.parseInt(text.substring(space + 1)));
    }

    String text() {
        return equals(FIRST) ? "" : number + " " + last;
    }

    OpenAttempt ended(boolean made) {
        return new OpenAttempt(number + 1, made ? number : last);
    }
}
