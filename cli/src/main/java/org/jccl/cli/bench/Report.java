package org.jccl.cli.bench;

/** An output for rows, on rank 0. */
interface Report extends AutoCloseable {

    /** Called before the rows of an operation. */
    default void begin(Collective collective) {}

    /** Called for each row, when it is measured. */
    void row(Row row);

    /** Called after the rows of an operation. */
    default void end(Collective collective) {}

    @Override
    default void close() {}
}
