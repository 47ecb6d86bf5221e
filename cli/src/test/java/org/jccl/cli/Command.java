package org.jccl.cli;

import java.io.PrintWriter;
import java.io.StringWriter;

/**
 * One run of the command in this JVM.
 *
 * @param exitCode what it returned
 * @param out what it printed
 * @param err its errors
 */
record Command(int exitCode, String out, String err) {

    static Command jccl(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode = Jccl.execute(new PrintWriter(out), new PrintWriter(err), arguments);
        return new Command(exitCode, out.toString(), err.toString());
    }
}
