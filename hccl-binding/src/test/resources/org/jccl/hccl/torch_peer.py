"""A rank of a world of two as torch_npu has it, without torch_npu, which needs an NPU.

PyTorch itself makes the groups and gives the backend its stores; the backend does with them what ProcessGroupHCCL does,
and calls libhccl as that does.

    torch_peer.py RANK PORT LIBASCENDCL LIBHCCL
"""

import ctypes
import datetime
import os
import sys
import time

# As torch_npu's users set them; CANN takes Python's signals otherwise, and lets in only hosts of a list.
os.environ["ASCEND_COREDUMP_SIGNAL"] = "none"
os.environ["HCCL_WHITELIST_DISABLE"] = "1"

import torch
import torch.distributed as dist

rank, port = map(int, sys.argv[1:3])
acl, hccl = (ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in sys.argv[3:5])

ROOT_INFO_BYTES = 4108
FLOAT, SUM, TO_DEVICE, TO_HOST, HUGE_FIRST = 4, 0, 1, 2, 0
FOUR = ctypes.c_size_t(4)


def check(code):
    assert code == 0, code


class Hccl(dist.ProcessGroup):
    def __init__(self, store, own, size, timeout):
        super().__init__(own, size)
        self.store, self.own, self.ranks, self.handle = store, own, size, None

    def meet(self):
        """At the first collective: rank 0 writes what HCCL gave it and its version, the others wait for both."""
        info = ctypes.create_string_buffer(ROOT_INFO_BYTES)
        if self.own == 0:
            check(hccl.HcclGetRootInfo(info))
            self.store.set("0", info.raw)
            self.store.set("version_key", "2.13.0")
        else:
            value = self.store.get("0")
            assert len(value) == ROOT_INFO_BYTES, len(value)
            ctypes.memmove(info, value, ROOT_INFO_BYTES)
            assert self.store.get("version_key")
        self.handle = ctypes.c_void_p()
        check(hccl.HcclCommInitRootInfo(self.ranks, info, self.own, ctypes.byref(self.handle)))

    def sum(self, value):
        if self.handle is None:
            self.meet()
        number = ctypes.c_float(value)
        check(acl.aclrtMemcpy(memory, FOUR, ctypes.byref(number), FOUR, TO_DEVICE))
        check(hccl.HcclAllReduce(memory, memory, ctypes.c_uint64(1), FLOAT, SUM, self.handle, stream))
        check(acl.aclrtSynchronizeStream(stream))
        check(acl.aclrtMemcpy(ctypes.byref(number), FOUR, memory, FOUR, TO_HOST))
        return number.value


made = []


def create(store, own, size, timeout):
    made.append(Hccl(store, own, size, timeout))
    return made[-1]


check(acl.aclInit(None))
check(acl.aclrtSetDevice(rank))
memory, stream = ctypes.c_void_p(), ctypes.c_void_p()
check(acl.aclrtMalloc(ctypes.byref(memory), FOUR, HUGE_FIRST))
check(acl.aclrtCreateStreamWithConfig(ctypes.byref(stream), 0, 0))

torch.utils.rename_privateuse1_backend("npu")
dist.Backend.register_backend("hccl", create, devices=["npu"])
dist.init_process_group(
    "hccl",
    init_method=f"tcp://127.0.0.1:{port}",
    rank=rank,
    world_size=2,
    timeout=datetime.timedelta(seconds=60),
)
assert made[0].sum(rank + 1) == 3
dist.new_group([0, 1])
assert made[1].sum(10) == 30
for group in reversed(made):
    check(hccl.HcclCommDestroy(group.handle))
store = dist.TCPStore("127.0.0.1", port, None, False, datetime.timedelta(seconds=60))
store.set("peer is done", "")
while rank == 0 and store.add("java is done", 0) < 1:
    time.sleep(0.05)
check(acl.aclrtDestroyStream(stream))
check(acl.aclrtFree(memory))
check(acl.aclFinalize())
print("ok", flush=True)
