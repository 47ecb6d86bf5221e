package org.jccl.internal.api;

import java.util.List;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.Store;
import org.jccl.TlsCredentials;
import org.jccl.UsageException;
import org.jccl.internal.backend.Backend;
import org.jccl.store.PrefixStore;

/** Rejects options of a world that its backends cannot have. */
final class OptionChecks {

    private OptionChecks() {}

    static void requireInterop(Interop interop, Backend backend) {
        if (!backend.provider().supports(interop)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "backend %s cannot share a group with ranks of %s"
                            .formatted(backend.provider().name(), interop));
        }
        if (interop != Interop.NONE && backend.isStaged()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "backend %s copies tensors on %s through host memory in a way that ranks of %s do not support; leave that device type out"
                            .formatted(
                                    backend.provider().name(), backend.device().type(), interop));
        }
    }

    /** Rejects what would leave a connection plain. */
    static void requireEncryption(Interop interop, List<Backend> backends, Optional<Store> store) {
        String plain = null;
        if (interop != Interop.NONE) {
            plain = "ranks of " + interop + " use plain connections; leave out interop(...)";
        }
        for (Backend each : backends) {
            if (!each.provider().encrypts()) {
                plain = "backend " + each.provider().name() + " cannot encrypt; name one that can";
            }
        }
        if (store.isPresent() && !store.get().isEncrypted()) {
            plain =
                    PrefixStore.root(store.get())
                            + " is connected without TLS; connect it with the credentials";
        }
        if (plain != null) {
            throw new UsageException(
                    FailureContext.NONE,
                    "TLS is required by tls(...) or %s, but %s, or do without TLS"
                            .formatted(TlsCredentials.CERTIFICATE_VARIABLE, plain));
        }
    }

    /** Rejects a world whose ranks cannot be replaced. */
    static void requireReplaceable(Optional<String> library, Interop interop) {
        if (library.isPresent() || interop != Interop.NONE) {
            throw new UsageException(
                    FailureContext.NONE,
                    "ranks of this world cannot be replaced: %s; leave out reconfigurable(...)"
                            .formatted(
                                    library.map(name -> "its ranks are assigned by " + name)
                                            .orElse("it has ranks of " + interop)));
        }
    }

    static void requireRanks(int minimum, int worldSize) {
        if (minimum > worldSize) {
            throw new UsageException(
                    FailureContext.NONE,
                    "a generation cannot have at least %s ranks in a world of %s"
                            .formatted(minimum, worldSize));
        }
    }
}
