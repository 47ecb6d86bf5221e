package org.jccl.internal.group;

import java.time.Duration;
import java.util.Optional;
import org.jccl.OnFailure;
import org.jccl.Store;
import org.jccl.TlsCredentials;
import org.jccl.internal.diagnosis.Diagnosis;
import org.jccl.internal.engine.Watchdog;
import org.jccl.internal.observe.Observation;

/**
 * What all groups of a world share. The world closes it.
 *
 * @param store the store of all ranks, or empty
 * @param rankZeroServes whether the store is in the process of rank 0
 * @param timeout deadline of each operation
 * @param watchdog ends operations over their deadline
 * @param diagnosis explains them
 * @param observation observes operations
 * @param onFailure what a failure does
 * @param checksCalls whether each collective is compared with those of the other ranks
 * @param tls the certificates for connections between ranks; empty for plain ones
 */
record WorldServices(
        Optional<Store> store,
        boolean rankZeroServes,
        Duration timeout,
        Watchdog watchdog,
        Diagnosis diagnosis,
        Observation observation,
        OnFailure onFailure,
        boolean checksCalls,
        Optional<TlsCredentials> tls) {

    /** Returns the same services with another connection to the store, or another part of it. */
    WorldServices over(Store other) {
        return new WorldServices(
                Optional.of(other),
                rankZeroServes,
                timeout,
                watchdog,
                diagnosis,
                observation,
                onFailure,
                checksCalls,
                tls);
    }
}
