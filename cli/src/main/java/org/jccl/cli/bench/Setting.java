package org.jccl.cli.bench;

import java.util.List;
import org.jccl.Availability;
import org.jccl.cli.info.Host;

/**
 * The environment of a measurement, for reports.
 *
 * @param host this machine and Java
 * @param backend name of the backend
 * @param library version and path of its library
 * @param devices one line a rank
 * @param options the options of the command
 */
record Setting(
        Host host,
        String backend,
        Availability.Available library,
        List<String> devices,
        BenchOptions options) {}
