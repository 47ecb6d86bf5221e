"""Runs a script for PyTorch with CUDA where there is neither: what it uses of them calls the mock libraries.

PyTorch's stores are real. ProcessGroupNCCL does what PyTorch 2.13's does with its store, and calls libnccl as that does.

    torch_on_mocks.py DRIVER CUDART NCCL SCRIPT ARGUMENT...
"""

import ctypes
import runpy
import sys

import torch
import torch.distributed as dist

FLOAT, SUM, TO_DEVICE, TO_HOST = 7, 0, 1, 2
ID_BYTES = 128
libraries, script = sys.argv[1:4], sys.argv[4]
sys.argv = sys.argv[4:]
loaded = []
# As importing PyTorch does; the script looks for what is loaded. The driver comes at the first use.
for path in libraries[1:]:
    ctypes.CDLL(path, ctypes.RTLD_GLOBAL)


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * ID_BYTES)]


def check(code):
    assert code == 0, code


def cuda():
    """The libraries are called from the first use on, as NCCL reads its environment then."""
    if not loaded:
        loaded.extend(ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in libraries)
        stream = ctypes.c_void_p()
        check(loaded[1].cudaStreamCreate(ctypes.byref(stream)))
        loaded.append(stream)
    return loaded[1]


class DeviceTensor:
    def __init__(self, values):
        self.count = len(values)
        self.bytes = ctypes.c_size_t(4 * self.count)
        self.address = ctypes.c_void_p()
        check(cuda().cudaMalloc(ctypes.byref(self.address), self.bytes))
        self.copy_(values)

    def copy_(self, values):
        host = (ctypes.c_float * self.count)(*[float(value) for value in values])
        check(cuda().cudaMemcpy(self.address, host, self.bytes, TO_DEVICE))

    def tolist(self):
        host = (ctypes.c_float * self.count)()
        check(cuda().cudaMemcpy(host, self.address, self.bytes, TO_HOST))
        return list(host)


class Work:
    """Orders the current stream, which is the only one."""

    def wait(self):
        return True


class ProcessGroupNCCL:
    def __init__(self, store, rank, size, timeout):
        self.store, self.rank, self.size, self.handle = store, rank, size, None

    def communicator(self):
        if self.handle is None:
            unique = UniqueId()
            value = self.store.get("0")
            assert self.rank > 0 and len(value) == ID_BYTES, len(value)
            ctypes.memmove(ctypes.byref(unique), value, ID_BYTES)
            self.handle = ctypes.c_void_p()
            check(loaded[2].ncclCommInitRank(ctypes.byref(self.handle), self.size, unique, self.rank))
        return self.handle

    def allreduce(self, x):
        check(
            loaded[2].ncclAllReduce(
                x.address, x.address, ctypes.c_size_t(x.count), FLOAT, SUM, self.communicator(), loaded[3]
            )
        )
        return Work()

    def broadcast(self, x, root):
        check(
            loaded[2].ncclBroadcast(
                x.address, x.address, ctypes.c_size_t(x.count), FLOAT, root, self.communicator(), loaded[3]
            )
        )
        return Work()


on_host = torch.tensor
torch.tensor = lambda values, device=None: on_host(values) if device is None else DeviceTensor(values)
torch.cuda.is_available = lambda: True
torch.cuda.set_device = lambda device: check(cuda().cudaSetDevice(device))
torch.cuda.synchronize = lambda: check(cuda().cudaStreamSynchronize(loaded[3]))
dist.is_nccl_available = lambda: True
dist.ProcessGroupNCCL = ProcessGroupNCCL
runpy.run_path(script, run_name="__main__")
