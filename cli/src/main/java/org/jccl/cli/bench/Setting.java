package org.jccl.cli.bench;

import java.util.List;
import org.jccl.Availability;
import org.jccl.cli.info.Host;

/**
 * What a measurement was made with, for reports.
 *
 * @param host this machine and Java
 * @param backend name of the backend
 * @param library version and path of its library
 * @param devices one line a rank
 * @param options what was asked for
 */
record Setting(
        Host host,
        String backend,
        Availability.Available library,
        List<String> devices,
        BenchOptions options) {}
