"""Times a step of PyTorch's DistributedDataParallel on Gloo, as StepTime of the examples does ours.

Prints the median of rank 0 in milliseconds. Starts its ranks itself.
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
    times = []
    for step in range(-(options.steps // 4 + 2), options.steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        if step >= 0:
            times.append((time.perf_counter() - start) * 1e3)
    if rank == 0:
        print(f"median_ms {statistics.median(times):.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["ddp", "view", "alone"])
    parser.add_argument("steps", type=int)
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
