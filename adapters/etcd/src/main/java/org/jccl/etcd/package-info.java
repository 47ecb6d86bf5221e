/**
 * A store on etcd, for jobs that survive the loss of any host. {@code jccl run --rdzv-backend etcd}
 * and URLs like {@code etcd://host:2379,host2:2379/prefix} use it if this artifact is present.
 *
 * <p>A session is a client of etcd, shared by the stores that were duplicated from each other. Its
 * lock orders changes, and is held during requests; no other lock is taken then.
 */
package org.jccl.etcd;
