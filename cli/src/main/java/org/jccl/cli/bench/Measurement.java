package org.jccl.cli.bench;

/**
 * One measured size of an operation, as plots need it.
 *
 * @param source name of the file it is from, or what the user called it
 * @param named whether the user called it so
 * @param backend name of the backend
 * @param operation name of the operation
 * @param type element type
 * @param ranks number of ranks
 * @param bytes the size
 * @param micros median time, in microseconds
 * @param busBandwidth in GB/s
 * @param wrong wrong elements
 */
record Measurement(
        String source,
        boolean named,
        String backend,
        String operation,
        String type,
        int ranks,
        long bytes,
        double micros,
        double busBandwidth,
        long wrong) {

    /** The measurement of a row; of two forms, the one of a CSV line. */
    static Measurement of(Row row, String backend) {
        Row.Result result = row.results().get(row.collective().placements().get(0));
        return new Measurement(
                "",
                false,
                backend,
                row.collective().toString(),
                row.type().map(Object::toString).orElse("none"),
                row.ranks(),
                row.bytes(),
                result.timing().medianMicros(),
                row.busBandwidth(result),
                result.wrong());
    }
}
