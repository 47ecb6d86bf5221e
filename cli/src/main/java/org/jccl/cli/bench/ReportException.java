package org.jccl.cli.bench;

/** A result could not be written. */
public final class ReportException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    ReportException(String message, Throwable cause) {
        super(message, cause);
    }
}
