/**
 * What stands between a process group and a training loop: gradients in buckets, meshes of devices,
 * samplers and checkpoints.
 */
module org.jccl.training {
    requires transitive org.jccl.api;

    exports org.jccl.training;
}
