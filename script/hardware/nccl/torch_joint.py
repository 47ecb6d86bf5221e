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


def loaded(name):
    """The file that this process has of a library, or None."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.partition("/")[1:]
            if path[0] and os.path.basename(path[1]).startswith(name):
                return "".join(path).strip()
    return None


# Ranks of one communicator must have the same version of NCCL: PyTorch's own, wherever else Java would find another.
environment = {**os.environ, "NCCL_HOSTID": "rank0"}
for variable, name in (("JCCL_NCCL_LIBRARY", "libnccl.so"), ("JCCL_NCCL_CUDART", "libcudart.so")):
    path = loaded(name)
    print(f"{name}: {path or 'PyTorch has none of its own'}", flush=True)
    if path:
        environment[variable] = path

# NCCL reads this at its first use; the Java rank has another.
os.environ["NCCL_HOSTID"] = "rank1"
store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=60))
java = subprocess.Popen([*sys.argv[1:], str(store.port)], env=environment)
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
