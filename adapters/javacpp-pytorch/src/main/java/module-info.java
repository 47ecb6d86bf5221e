/** Tensors and {@code DistributedDataParallel} for PyTorch as JavaCPP presets have it. */
module org.jccl.pytorch {
    requires transitive org.jccl.training;
    requires transitive org.bytedeco.pytorch;
    requires static org.bytedeco.cuda;

    exports org.jccl.pytorch;
}
