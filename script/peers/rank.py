"""A rank of a Python library in script/bench/peers, which says over a socket what to measure next.

rank.py torch|mpi4py SOCKET. rank.h and org.jccl.benchmarks.PeerRank do the same for C and Java.
"""

import itertools
import os
import socket
import sys
import time

IN_PLACE = ("all_reduce", "broadcast", "reduce")


class Torch:
    """PyTorch's Gloo, of the ranks that torchrun's variables say."""

    def __init__(self):
        from datetime import timedelta

        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        dist.init_process_group("gloo", timeout=timedelta(minutes=2))
        self.torch, self.dist = torch, dist
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.version = f"PyTorch {torch.__version__}, Python {sys.version.split()[0]}"

    def array(self, floats, value):
        return self.torch.full((floats,), float(value))

    def calls(self, own, out, root):
        dist = self.dist
        return {
            "all_reduce": lambda: dist.all_reduce(out),
            "broadcast": lambda: dist.broadcast(out, root()),
            "reduce": lambda: dist.reduce(out, root()),
            "all_gather": lambda: dist.all_gather_into_tensor(out, own),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(out, own),
            "all_to_all": lambda: dist.all_to_all_single(out, own),
            "barrier": dist.barrier,
        }

    def send(self, data, peer):
        self.dist.send(data, peer)

    def recv(self, data, peer):
        self.dist.recv(data, peer)

    def close(self):
        self.dist.destroy_process_group()


class Mpi4py:
    """The calls for buffers, on arrays of numpy."""

    def __init__(self):
        import mpi4py
        import numpy
        from mpi4py import MPI

        self.mpi, self.numpy, self.comm = MPI, numpy, MPI.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size
        library = MPI.Get_library_version().split("\n")[0].split(",")[0]
        self.version = f"mpi4py {mpi4py.__version__} on {library}"

    def array(self, floats, value):
        return self.numpy.full(floats, value, "float32")

    def calls(self, own, out, root):
        comm, here = self.comm, self.mpi.IN_PLACE
        return {
            "all_reduce": lambda: comm.Allreduce(here, out),
            "broadcast": lambda: comm.Bcast(out, root()),
            "reduce": lambda: self.reduce(own, out, root()),
            "all_gather": lambda: comm.Allgather(own, out),
            "reduce_scatter": lambda: comm.Reduce_scatter_block(own, out),
            "all_to_all": lambda: comm.Alltoall(own, out),
            "barrier": comm.Barrier,
        }

    def reduce(self, own, out, root):
        """Of what a rank has written as a root, as in place; MPICH 4.0 crashes in place, with 64 KB and another root than 0."""
        if root == self.rank:
            self.comm.Reduce(own, out, root=root)
        else:
            self.comm.Reduce(out, None, root=root)

    def send(self, data, peer):
        self.comm.Send(data, peer)

    def recv(self, data, peer):
        self.comm.Recv(data, peer)

    def close(self):
        pass  # MPI ends with the interpreter


def prepare(peer, operation, floats):
    """Returns the call on fresh memory, after one whose result was right; or what was wrong."""
    part = floats // peer.size
    inputs = part if operation == "all_gather" else 0 if operation in ("all_reduce", "broadcast", "barrier") else floats
    outputs = {"reduce_scatter": part, "barrier": 0}.get(operation, floats)
    own = peer.array(inputs, peer.rank + 1)
    out = peer.array(outputs, peer.rank + 1 if operation in IN_PLACE else -1)
    # It goes round, so that no rank can be calls ahead of the others.
    calls = peer.calls(own, out, itertools.cycle(range(peer.size)).__next__)
    calls["sendrecv"] = ping_pong(peer, own, out)
    if operation not in calls:
        return None, "none there is no such operation"
    call = calls[operation]
    calls["barrier"]()
    call()
    unused = operation == "reduce" and peer.rank != 0 or operation == "sendrecv" and peer.rank > 1
    if outputs and not unused:
        parts = peer.size if operation in ("all_gather", "all_to_all") else 1
        for number in range(parts):
            total = peer.size * (peer.size + 1) // 2
            wanted = number + 1 if parts > 1 else 1 if operation in ("broadcast", "sendrecv") else total
            here = out[number * (outputs // parts) : (number + 1) * (outputs // parts)]
            if bool((here != wanted).any()):
                return None, f"wrong elements of part {number} are not {wanted}"
    # Sums of zeros stay what they are, however often they are added up.
    own[:] = 0
    out[:] = 0
    return call, None


def ping_pong(peer, own, out):
    def first():
        peer.send(own, 1)
        peer.recv(out, 1)

    def second():
        peer.recv(out, 0)
        peer.send(out, 0)

    return first if peer.rank == 0 else second if peer.rank == 1 else lambda: None


def timed(peer, call, warm, chunks, calls):
    barrier = peer.dist.barrier if isinstance(peer, Torch) else peer.comm.Barrier
    barrier()
    for _ in range(warm):
        call()
    clock = time.perf_counter_ns
    nanos = [0] * chunks
    begun = last = clock()
    for i in range(chunks):
        for _ in range(calls):
            call()
        now = clock()
        nanos[i] = now - last
        last = now
    return f"ok {last - begun} {sorted(nanos)[chunks // 2]}"


def main():
    peer = {"torch": Torch, "mpi4py": Mpi4py}[sys.argv[1]]()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[2])
        lines = connection.makefile("r")
        connection.sendall(f"hello {peer.rank} {peer.version}\n".encode())
        prepared = call = None
        for line in lines:
            if line == "end\n":
                peer.close()
                return
            operation, *numbers = line.split()
            floats, *numbers = map(int, numbers)
            fault = None
            if prepared != (operation, floats):
                call, fault = prepare(peer, operation, floats)
                prepared = (operation, floats) if fault is None else None
            answer = fault or timed(peer, call, *numbers)
            connection.sendall(f"{answer}\n".encode())
    print("script/bench/peers is gone", file=sys.stderr)
    os._exit(1)


if __name__ == "__main__":
    main()
