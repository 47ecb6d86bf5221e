"""Rank 1, by PyTorch, of a communicator whose rank 0 is Java; starts it: torch_joint.py JAVA_COMMAND...

The port of the store is added to the command. Exits with 77 where there is no PyTorch with CUDA and NCCL.
"""

import os
import subprocess
import sys
from datetime import timedelta

try:
    import torch
    import torch.distributed as dist
except ImportError as missing:
    print(missing)
    sys.exit(77)

if not torch.cuda.is_available() or not dist.is_nccl_available():
    print(f"torch {torch.__version__}: no CUDA device or no NCCL")
    sys.exit(77)

# NCCL reads this at its first use; the Java rank has another.
os.environ["NCCL_HOSTID"] = "rank1"
store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=60))
java = subprocess.Popen([*sys.argv[1:], str(store.port)], env={**os.environ, "NCCL_HOSTID": "rank0"})
torch.cuda.set_device(0)
# As init_process_group prefixes the store for the world, then for a type of device.
prefixed = dist.PrefixStore("cuda/", dist.PrefixStore("0/", store))
group = dist.ProcessGroupNCCL(prefixed, 1, 2, timedelta(seconds=60))
tensor = torch.tensor([2.0, 20.0], device="cuda")
group.allreduce(tensor).wait()
torch.cuda.synchronize()
assert tensor.tolist() == [3.0, 30.0], tensor
tensor.copy_(torch.tensor([7.0, 8.0]))
group.broadcast(tensor, root=1).wait()
torch.cuda.synchronize()
print("Python rank 1: all right", flush=True)
code = java.wait(timeout=60)
os._exit(code)
