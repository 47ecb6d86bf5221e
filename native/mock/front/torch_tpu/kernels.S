// What objcopy makes of a file of kernels in the build of the vendor's plugin for PyTorch. Built once for each chip, with
// MOCK_TPU_CHIP as its name.
    .section .rodata
    .globl _binary_torch_tpu_kernel_data_start
_binary_torch_tpu_kernel_data_start:
    .ascii "mock kernels for "
    .ascii MOCK_TPU_CHIP
    .globl _binary_torch_tpu_kernel_data_end
_binary_torch_tpu_kernel_data_end:
    .section .note.GNU-stack,"",%progbits
