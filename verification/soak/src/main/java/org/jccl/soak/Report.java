package org.jccl.soak;

import java.util.List;

/** What a rank counts and finds while it runs. */
interface Report {

    /** An operation is about to be issued, with these tensors. */
    void operation(List<Block> blocks);

    /** The backend has no such reduction. */
    void refused();

    /** Elements are not what they must be. */
    void wrong(String what);
}
