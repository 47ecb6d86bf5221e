"""Rank 0 or 1 of worlds as PyTorch's ProcessGroupNCCL has them, without ProcessGroupNCCL, which needs a GPU.

It meets Java's ranks at PyTorch's own TCPStore, under the literal keys that PyTorch uses, and calls libnccl as
ProcessGroupNCCL does. The modes lazy and eager are PyTorch 2.13's. The modes newer and newer-lazy are what was read about
PyTorch 2.15, and 2.14 with TORCH_DIST_USE_NCCL2=1: no such PyTorch was at hand.

    torch_peer.py DRIVER CUDART NCCL

Each line of standard input is a world: MODE RANK WORLD_SIZE PORT. "ok" answers it, and is printed once torch is loaded.
"""

import ctypes
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist


def load(path):
    """Functions are found when they are called: NVIDIA's NCCL names some that the mock of CUDA lacks."""
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype = ctypes.c_void_p
    handle = dlopen(path.encode(), os.RTLD_LAZY | os.RTLD_GLOBAL)
    assert handle, path
    return ctypes.CDLL(path, handle=handle)


_, cuda, nccl = map(load, sys.argv[1:4])

FLOAT, SUM, TO_DEVICE, TO_HOST = 7, 0, 1, 2
ID_BYTES = 128


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * ID_BYTES)]


def check(code):
    assert code == 0, code


class Communicator:
    def __init__(self, handle):
        self.handle = handle

    @classmethod
    def meet(cls, key, size, own):
        """Rank 0 of the communicator writes 128 raw bytes, and the others read; of the newer backend rank 0 reads too."""
        unique = UniqueId()
        if own == 0:
            check(nccl.ncclGetUniqueId(ctypes.byref(unique)))
            store.set(key, bytes(unique))
        if own != 0 or "nccl_storekey" in key:
            store.wait([key])
            (value,) = store.multi_get([key])
            assert len(value) == ID_BYTES, f"the id has {len(value)} bytes"
            ctypes.memmove(ctypes.byref(unique), value, ID_BYTES)
        handle = ctypes.c_void_p()
        check(nccl.ncclCommInitRank(ctypes.byref(handle), size, unique, own))
        return cls(handle)

    @classmethod
    def meet_by_blocks(cls, keys, size, own):
        """As where there are more ranks than TORCH_NCCL_RANKS_PER_ROOT: the first rank of each block writes an id."""
        blocks = [len(range(block, size, len(keys))) for block in range(len(keys))]  # the larger ones first
        roots = [sum(blocks[:block]) for block in range(len(keys))]
        if own in roots:
            unique = UniqueId()
            check(nccl.ncclGetUniqueId(ctypes.byref(unique)))
            store.set(keys[roots.index(own)], bytes(unique))
        store.wait(keys)
        values = store.multi_get(keys)
        assert all(len(value) == ID_BYTES for value in values), values
        ids = (UniqueId * len(keys)).from_buffer_copy(b"".join(values))
        handle = ctypes.c_void_p()
        check(nccl.ncclCommInitRankScalable(ctypes.byref(handle), size, own, len(keys), ids, None))
        return cls(handle)

    def split(self, ranks, color=None):
        """As perform_nocolor_split and NCCLComm::split."""
        inside = rank in ranks
        if color is None:
            color = abs(hash(tuple(ranks))) % 2**31
        color = color if inside else -1
        handle = ctypes.c_void_p()
        key = ranks.index(rank) if inside else rank
        check(nccl.ncclCommSplit(self.handle, color, key, ctypes.byref(handle), None))
        return Communicator(handle) if inside else None

    def all_reduce(self):
        check(nccl.ncclAllReduce(memory, memory, ctypes.c_size_t(1), FLOAT, SUM, self.handle, stream))

    def all_gather_list(self):
        """As nccl2: a broadcast of each part in one group. Returns the parts."""
        parts = [device(1) for _ in range(world)]
        check(nccl.ncclGroupStart())
        for root, part in enumerate(parts):
            source = memory if root == rank else part
            check(nccl.ncclBroadcast(source, part, ctypes.c_size_t(1), FLOAT, root, self.handle, stream))
        check(nccl.ncclGroupEnd())
        return [take(part) for part in parts]

    def reduce_scatter_list(self, values):
        """As nccl2: a reduction of each part in one group, into memory."""
        parts = [device(1) for _ in values]
        for part, value in zip(parts, values):
            put(value, part)
        check(nccl.ncclGroupStart())
        for root, part in enumerate(parts):
            check(nccl.ncclReduce(part, memory, ctypes.c_size_t(1), FLOAT, SUM, root, self.handle, stream))
        check(nccl.ncclGroupEnd())

    def send(self, peer):
        check(nccl.ncclSend(memory, ctypes.c_size_t(1), FLOAT, peer, self.handle, stream))

    def receive(self, peer):
        check(nccl.ncclRecv(memory, ctypes.c_size_t(1), FLOAT, peer, self.handle, stream))

    def destroy(self):
        check(nccl.ncclCommFinalize(self.handle))
        check(nccl.ncclCommDestroy(self.handle))


def device(floats):
    address = ctypes.c_void_p()
    check(cuda.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(4 * floats)))
    return address


def put(value, where=None):
    number = ctypes.c_float(value)
    check(cuda.cudaMemcpy(where or memory, ctypes.byref(number), ctypes.c_size_t(4), TO_DEVICE))


def take(where=None):
    number = ctypes.c_float()
    check(cuda.cudaStreamSynchronize(stream))
    check(cuda.cudaMemcpy(ctypes.byref(number), where or memory, ctypes.c_size_t(4), TO_HOST))
    return number.value


def expect(value):
    got = take()
    assert got == value, (got, value)


def lazy(java):
    """As without device_id: communicators at the first use, messages on communicators of two."""
    group = Communicator.meet("default_pg/0//cuda//0", world, rank)
    put(rank + 1)
    group.all_reduce()
    expect(world * (world + 1) / 2)

    pair = Communicator.meet("default_pg/0//cuda//0:1", 2, rank)
    put(7)
    pair.send(java)
    pair.receive(java)
    expect(8)

    check(nccl.ncclGroupStart())
    group.send(java)
    check(nccl.ncclGroupEnd())

    second = Communicator.meet("default_pg/0//1//cuda//0", 2, rank)
    put(10)
    second.all_reduce()
    expect(30)
    for communicator in second, pair, group:
        communicator.destroy()


def all_but_me():
    return [other for other in range(world) if other != rank]


def both(java):
    """As lazy, with cuda:nccl,cpu:gloo: Gloo connects at once, NCCL later; barriers are Gloo's."""
    gloo = gloo_of("default_pg/0/", world)
    group = Communicator.meet("default_pg/0//cuda//0", world, rank)
    put(rank + 1)
    group.all_reduce()
    expect(world * (world + 1) / 2)
    gloo.barrier().wait()
    number = torch.tensor([rank + 1.0])
    gloo.allreduce([number]).wait()
    assert number.item() == world * (world + 1) / 2, number

    gloo_second = gloo_of("default_pg/0//1/", 2)
    second = Communicator.meet("default_pg/0//1//cuda//0", 2, rank)
    put(10)
    second.all_reduce()
    expect(30)
    gloo_second.barrier().wait()
    for communicator in second, group:
        communicator.destroy()


def gloo_of(place, size):
    prefixed = dist.PrefixStore("cpu/", dist.PrefixStore(place, store))
    return dist.ProcessGroupGloo(prefixed, rank, size, datetime.timedelta(seconds=60))


def eager(java):
    """As with device_id: one communicator for all, and groups that are split from it."""
    group = Communicator.meet("default_pg/0//cuda//0", world, rank)
    put(7)
    group.send(java)
    group.receive(java)
    expect(8)

    both = group.split([0, 1])
    put(10)
    both.all_reduce()
    expect(30)
    assert group.split(all_but_me()) is None
    both.destroy()
    group.destroy()


def lists(group):
    put(rank + 1)
    assert group.all_gather_list() == [float(i + 1) for i in range(world)]
    group.reduce_scatter_list([rank + 10 * part for part in range(world)])
    expect(world * (world - 1) / 2 + 10 * rank * world)


def newer(java):
    """As 2.15: the world's communicator at once, and groups that are split from it by their lowest rank."""
    group = Communicator.meet("default_pg/0//cuda//0/nccl_storekey_0", world, rank)
    put(7)
    group.send(java)
    group.receive(java)
    expect(8)
    lists(group)

    both = group.split([0, 1], 0)
    put(10)
    both.all_reduce()
    expect(30)
    assert group.split(all_but_me(), min(all_but_me())) is None
    both.destroy()

    # split_group: all ranks in one call, each with its own part.
    part = group.split([0, 1], 0)
    put(10)
    part.all_reduce()
    expect(30)
    part.destroy()
    group.destroy()


def many(java, keys):
    """With two ranks for each id."""
    count = (world + 1) // 2
    group = Communicator.meet_by_blocks([keys + str(block) for block in range(count)], world, rank)
    put(rank + 1)
    group.all_reduce()
    expect(world * (world + 1) / 2)
    group.destroy()


def newer_lazy(java):
    """As 2.14 by choice: an id for each group, and messages on the group's own communicator."""
    group = Communicator.meet("default_pg/0//cuda//0/nccl_storekey_0", world, rank)
    put(rank + 1)
    group.all_reduce()
    expect(world * (world + 1) / 2)
    put(7)
    group.send(java)
    group.receive(java)
    expect(8)
    lists(group)

    second = Communicator.meet("default_pg/0//1//cuda//1/nccl_storekey_0", 2, rank)
    put(10)
    second.all_reduce()
    expect(30)
    for communicator in second, group:
        communicator.destroy()


MODES = {"lazy": lazy, "both": both, "eager": eager, "newer": newer, "newer-lazy": newer_lazy,
         "many": lambda java: many(java, "default_pg/0//cuda//UniqueNCCLID:"),
         "newer-many": lambda java: many(java, "default_pg/0//cuda//0/nccl_storekey_0_")}

print("ok", flush=True)
for line in sys.stdin:
    mode, *numbers = line.split()
    rank, world, port = map(int, numbers)
    store = dist.TCPStore("127.0.0.1", port, world, rank == 0, datetime.timedelta(seconds=60))
    check(cuda.cudaSetDevice(rank))
    memory, stream = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4)))
    check(cuda.cudaStreamCreate(ctypes.byref(stream)))
    MODES[mode](1 - rank)
    store.set("peer is done", "")
    while rank == 0 and store.add("java ranks done", 0) < world - 1:
        time.sleep(0.05)
    store = None  # closes the server, if this was rank 0
    print("ok", flush=True)
