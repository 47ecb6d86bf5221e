// What objcopy makes of a file of kernels in the build of the vendor's plugin for PyTorch.
    .section .rodata
    .globl _binary_torch_tpu_kernel_data_start
_binary_torch_tpu_kernel_data_start:
    .ascii "mock kernels"
    .globl _binary_torch_tpu_kernel_data_end
_binary_torch_tpu_kernel_data_end:
    .section .note.GNU-stack,"",%progbits
