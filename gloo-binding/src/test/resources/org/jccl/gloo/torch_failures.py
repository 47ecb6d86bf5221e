"""A PyTorch rank in a world where something goes wrong.

Each line of standard input is OPERATION COUNT INIT_METHOD RANK WORLD_SIZE TIMEOUT_SECONDS; the answer is "ok", or "error"
with its type and text.
"""

import sys
from datetime import timedelta

import torch
import torch.distributed as dist


def all_gather(count):
    dist.all_gather([torch.ones(count) for _ in range(dist.get_world_size())], torch.ones(count))


def train(count):
    dist.all_reduce(torch.ones(count))
    print("training", flush=True)
    while True:
        dist.all_reduce(torch.ones(count))


OPERATIONS = {
    "all_reduce": lambda n: dist.all_reduce(torch.ones(n)),
    "all_reduce_int16": lambda n: dist.all_reduce(torch.ones(n, dtype=torch.int16)),
    "broadcast_int16": lambda n: dist.broadcast(torch.ones(n, dtype=torch.int16), 0),
    "broadcast_from_0": lambda n: dist.broadcast(torch.ones(n), 0),
    "broadcast_from_1": lambda n: dist.broadcast(torch.ones(n), 1),
    "reduce_to_0": lambda n: dist.reduce(torch.ones(n), 0),
    "all_gather": all_gather,
    "all_to_all": lambda n: dist.all_to_all_single(torch.ones(2 * n), torch.ones(2 * n)),
    "send": lambda n: dist.send(torch.ones(n), 1 - dist.get_rank(), tag=4),
    "recv": lambda n: dist.recv(torch.ones(n), 1 - dist.get_rank(), tag=4),
    "text": lambda n: dist.all_gather_object([None] * dist.get_world_size(), "x" * n),
    "train": train,
}

torch.set_num_threads(1)
print("torch", torch.__version__, flush=True)
for line in sys.stdin:
    operation, count, init_method, rank, world, timeout = line.split()
    dist.init_process_group("gloo", init_method=init_method, rank=int(rank), world_size=int(world),
                            timeout=timedelta(seconds=int(timeout)))
    try:
        OPERATIONS[operation](int(count))
        dist.barrier()
        print("ok", flush=True)
    except Exception as e:
        print("error", type(e).__name__, str(e).replace("\n", " "), flush=True)
    dist.destroy_process_group()
