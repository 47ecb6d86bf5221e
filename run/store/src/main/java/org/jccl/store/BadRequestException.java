package org.jccl.store;

import java.io.IOException;

/** Thrown if a client violates the protocol; the server closes its connection. */
final class BadRequestException extends IOException {

    private static final long serialVersionUID = 1L;

    BadRequestException(String message) {
        super(message);
    }
}
