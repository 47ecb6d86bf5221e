package org.jccl.store;

import java.io.IOException;

/** A client sent something the protocol does not allow; the server closes its connection. */
final class BadRequestException extends IOException {

    private static final long serialVersionUID = 1L;

    BadRequestException(String message) {
        super(message);
    }
}
