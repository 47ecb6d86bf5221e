"""Times a step of PyTorch's DistributedDataParallel on Gloo, as StepTime of the examples does ours.

Prints the median step of each block in milliseconds, on rank 0. Starts its ranks itself.
"""

import argparse
import os
import socket
import statistics
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch.nn.parallel import DistributedDataParallel


def perceptron(sizes):
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def measure(rank, options, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", rank=rank, world_size=options.ranks, timeout=timedelta(minutes=2)
    )
    torch.manual_seed(rank)
    net = perceptron(options.sizes)
    x = torch.randn(options.batch, options.sizes[0])
    y = torch.randint(options.sizes[-1], (options.batch,))
    if options.mode != "alone":
        net = DistributedDataParallel(net, gradient_as_bucket_view=options.mode == "view")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for block in range(options.blocks):
        turn = block * options.programs + options.number
        if rank == 0:
            while options.turns.read_text() != f"{turn}\n":
                time.sleep(0.005)
        dist.barrier()
        times = []
        for _ in range(options.steps):
            start = time.perf_counter()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
            times.append((time.perf_counter() - start) * 1e3)
        dist.barrier()
        if rank == 0:
            print(f"block_ms {statistics.median(times):.3f}", flush=True)
            options.turns.write_text(f"{turn + 1}\n")
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["ddp", "view", "alone"])
    parser.add_argument("turns", type=Path, help="how many blocks programs have run")
    parser.add_argument("number", type=int, help="of this program")
    parser.add_argument("programs", type=int, help="that take turns")
    parser.add_argument("blocks", type=int)
    parser.add_argument("steps", type=int, help="of a block")
    parser.add_argument("batch", type=int)
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes.spawn(measure, (options, port), nprocs=options.ranks)


if __name__ == "__main__":
    main()
