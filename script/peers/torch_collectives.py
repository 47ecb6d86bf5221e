"""Times one operation of PyTorch's Gloo as `jccl bench` times ours: one CSV line on standard output.

The size, the number of calls and the statistics follow docs/benchmarks.md. Starts its ranks itself.
"""

import argparse
import os
import socket
import statistics
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

PARTS = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")


def prepare(op, size, rank, ranks):
    """Returns the call to time, on float32 tensors that stay allocated."""
    count = max(1, size // 4 // (ranks if op in PARTS else 1))
    own, other = torch.zeros(count), torch.zeros(count)
    whole, target = torch.zeros(count * ranks), torch.zeros(count * ranks)
    parts = list(whole.chunk(ranks)) if rank == 0 else None

    def sendrecv():
        if rank == 0:
            dist.send(own, 1)
            dist.recv(other, 1)
        elif rank == 1:
            dist.recv(other, 0)
            dist.send(other, 0)

    return {
        "all_reduce": lambda: dist.all_reduce(own),
        "broadcast": lambda: dist.broadcast(own, 0),
        "reduce": lambda: dist.reduce(own, 0),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, own),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(own, whole),
        "all_to_all": lambda: dist.all_to_all_single(target, whole),
        "gather": lambda: dist.gather(own, parts, 0),
        "scatter": lambda: dist.scatter(own, parts, 0),
        "sendrecv": sendrecv,
        "barrier": dist.barrier,
    }[op]


def seconds_of(call, count):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def longest(seconds):
    agreed = torch.tensor([seconds], dtype=torch.float64)
    dist.all_reduce(agreed, op=dist.ReduceOp.MAX)
    return agreed.item()


def calls_in(budget, seconds):
    return int(max(7, min(1_000_000, budget / max(seconds, 1e-8))))


def measure(rank, options, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", rank=rank, world_size=options.ranks, timeout=timedelta(minutes=2)
    )
    call = prepare(options.op, options.bytes, rank, options.ranks)
    call()
    guess = longest(seconds_of(call, 4))
    guess = longest(seconds_of(call, calls_in(options.budget / 10, guess)))
    times = [0] * calls_in(options.budget, guess)
    dist.barrier()
    for i in range(len(times)):
        start = time.perf_counter_ns()
        call()
        times[i] = time.perf_counter_ns() - start
    if rank == 0:
        times.sort()
        median, p99 = statistics.median_high(times), times[int(len(times) * 0.99)]
        print(
            f"torch-{torch.__version__},{options.op},float32,{options.ranks},{options.bytes},"
            f"{len(times)},{median / 1e3:.3f},{p99 / 1e3:.3f}",
            flush=True,
        )
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("op")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--bytes", type=int, default=4)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds")
    options = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes.spawn(measure, (options, port), nprocs=options.ranks)


if __name__ == "__main__":
    main()
