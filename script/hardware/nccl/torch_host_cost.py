"""Host time of a 4-byte dist.all_reduce of PyTorch on one rank, to compare with host-cost.

Exits with 77 where there is no PyTorch with CUDA and NCCL.
"""

import sys
import time

try:
    import torch
    import torch.distributed as dist
except ImportError as missing:
    print(missing)
    sys.exit(77)

CALLS = 2000
ROUNDS = 10

if not torch.cuda.is_available() or not dist.is_nccl_available():
    print(f"torch {torch.__version__}: no CUDA device or no NCCL")
    sys.exit(77)

torch.cuda.set_device(0)
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
print(f"torch {torch.__version__}, NCCL {torch.cuda.nccl.version()}")
tensor = torch.ones(1, device="cuda")
for name, call in (
    ("async", lambda: dist.all_reduce(tensor, async_op=True)),
    ("async+wait", lambda: dist.all_reduce(tensor, async_op=True).wait()),
    ("sync", lambda: dist.all_reduce(tensor)),
):
    best = float("inf")
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.thread_time_ns()
        for _ in range(CALLS):
            call()
        best = min(best, (time.thread_time_ns() - start) / CALLS)
    torch.cuda.synchronize()
    print(f"{name:12} {best:6.0f} ns of processor time")
dist.destroy_process_group()
