"""Every operation that Java and Python ranks share, as the Python ranks call it.

    python collectives.py tcp://HOST:PORT RANK WORLD_SIZE

Without arguments, one line of standard input after the other is such a world; "ok" answers it.
The Java side is TorchCollectives.java among the tests of gloo-binding.
"""

import sys
from datetime import timedelta

import torch
import torch.distributed as dist

TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16,
         torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool]
LARGE = 1_000_003  # several of gloo's segments, and no multiple of the world size


def data(rank, count, dtype=torch.float32):
    """What a rank contributes: small integers, so that every type holds every result."""
    return (torch.arange(count) % 5 + rank + 1).to(dtype)


def total(world, count):
    return sum(data(rank, count) for rank in range(world))


def expect(actual, wanted):
    assert torch.equal(actual, wanted.to(actual.dtype)), f"got {actual}, expected {wanted}"


def all_reduce(rank, world):
    for dtype in TYPES[:-1]:
        tensor = data(rank, 10, dtype)
        dist.all_reduce(tensor)
        expect(tensor, total(world, 10))
    flags = data(rank, 10) % 3 == 0
    dist.all_reduce(flags, dist.ReduceOp.MAX)
    expect(flags, sum(data(r, 10) % 3 == 0 for r in range(world)) > 0)
    for op, last in [(dist.ReduceOp.MAX, data(world - 1, 10)), (dist.ReduceOp.MIN, data(0, 10)),
                     (dist.ReduceOp.AVG, total(world, 10) / world)]:
        tensor = data(rank, 10)
        dist.all_reduce(tensor, op)
        expect(tensor, last)
    product = data(rank, 10, torch.float64)
    dist.all_reduce(product, dist.ReduceOp.PRODUCT)
    expect(product, torch.stack([data(r, 10, torch.float64) for r in range(world)]).prod(0))
    for op in [dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR]:
        tensor = torch.full((10,), 7 if op == dist.ReduceOp.BAND else 1 << rank, dtype=torch.int32)
        dist.all_reduce(tensor, op)
        expect(tensor, torch.full((10,), 7 if op == dist.ReduceOp.BAND else (1 << world) - 1))
    for count in [0, 1, LARGE]:
        tensor = data(rank, count)
        dist.all_reduce(tensor)
        expect(tensor, total(world, count))


def rooted(rank, world):
    for root in range(world):
        for count in [0, 10, LARGE]:
            tensor = data(rank, count)
            dist.broadcast(tensor, root)
            expect(tensor, data(root, count))
        for op, wanted in [(dist.ReduceOp.SUM, total(world, 10)), (dist.ReduceOp.AVG, total(world, 10) / world)]:
            tensor = data(rank, 10)
            dist.reduce(tensor, root, op)
            if rank == root:
                expect(tensor, wanted)
        for count in [0, 10]:
            parts = [torch.zeros(count) for _ in range(world)] if rank == root else None
            dist.gather(data(rank, count), parts, root)
            for sender, part in enumerate(parts or []):
                expect(part, data(sender, count))
            tensor = torch.zeros(count)
            dist.scatter(tensor, [data(r, count) for r in range(world)] if rank == root else None, root)
            expect(tensor, data(rank, count))


def gathers(rank, world):
    for count in [0, 10]:
        parts = [torch.zeros(count, dtype=torch.int64) for _ in range(world)]
        dist.all_gather(parts, data(rank, count, torch.int64))
        for sender, part in enumerate(parts):
            expect(part, data(sender, count))
        whole = torch.zeros(world * count)
        dist.all_gather_single(whole, data(rank, count))
        expect(whole, torch.cat([data(r, count) for r in range(world)]))


def reduce_scatters(rank, world):
    for op, by in [(dist.ReduceOp.SUM, 1), (dist.ReduceOp.AVG, world)]:
        tensor = torch.zeros(10)
        dist.reduce_scatter(tensor, [data(rank, 10) * (part + 1) for part in range(world)], op)
        expect(tensor, total(world, 10) * (rank + 1) / by)
        dist.reduce_scatter_single(tensor, data(rank, 10 * world), op)
        expect(tensor, total(world, 10 * world)[10 * rank:10 * (rank + 1)] / by)
    tensor = torch.zeros(rank + 1)
    dist.reduce_scatter(tensor, [data(rank, part + 1) for part in range(world)])
    expect(tensor, total(world, rank + 1))


def all_to_all(rank, world):
    tensor = torch.zeros(3 * world)
    dist.all_to_all_single(tensor, data(rank, 3 * world))
    expect(tensor, torch.cat([data(r, 3 * world)[3 * rank:3 * rank + 3] for r in range(world)]))
    parts = [torch.zeros(3) for _ in range(world)]
    dist.all_to_all(parts, [data(rank, 3) * (to + 1) for to in range(world)])
    for sender, part in enumerate(parts):
        expect(part, data(sender, 3) * (rank + 1))
    sends = [rank * to for to in range(world)]  # nothing from or to rank 0
    tensor = torch.zeros(sum(sends))
    dist.all_to_all_single(tensor, data(rank, sum(sends)), sends, sends)
    expect(tensor, torch.cat([data(r, r * sum(range(world)))[r * sum(range(rank)):][:r * rank] for r in range(world)]))


def messages(rank, world):
    for sender in range(world):
        for receiver in range(world):
            if rank == sender != receiver:
                works = [dist.isend(data(tag, tag), receiver, tag=tag) for tag in [7, 8, 0]]
                for work in works:
                    work.wait()
            elif rank == receiver != sender:
                for tag in [0, 8, 7]:  # not in the order in which they were sent
                    tensor = torch.zeros(tag)
                    dist.recv(tensor, sender, tag=tag)
                    expect(tensor, data(tag, tag))
    if rank != 0:
        dist.send(data(rank, 5), 0, tag=3)
    else:
        senders = set()
        for _ in range(world - 1):
            tensor = torch.zeros(5)
            sender = dist.recv(tensor, tag=3)
            expect(tensor, data(sender, 5))
            senders.add(sender)
        assert senders == set(range(1, world)), senders


def groups(rank, world):
    for ranks in [[0, world - 1], list(range(1, world)), [0, world - 1]]:
        group = dist.new_group(ranks)
        if rank in ranks:
            tensor = data(rank, 10)
            dist.all_reduce(tensor, group=group)
            expect(tensor, sum(data(r, 10) for r in ranks))
            dist.barrier(group)


def asynchronous(rank, world):
    tensors = [data(rank, count) for count in range(40)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in works:
        work.wait()
    for count, tensor in enumerate(tensors):
        expect(tensor, total(world, count))


def objects(rank, world):
    """The objects are bytes: what else a pickle holds, Java does not read."""
    mine = [b"", b"abc" * 100, b"x" * 70_000, b"\n\x80."]
    gathered = [None] * world
    dist.all_gather_object(gathered, mine[rank])
    assert gathered == mine[:world], gathered
    for root in range(world):
        everything = list(mine) if rank == root else [None] * len(mine)
        dist.broadcast_object_list(everything, root)
        assert everything == mine, everything
        gathered = [None] * world if rank == root else None
        dist.gather_object(mine[rank], gathered, root)
        assert gathered is None or gathered == mine[:world], gathered
        one = [None]
        dist.scatter_object_list(one, mine[:world] if rank == root else None, root)
        assert one == [mine[rank]], one


def run(init_method, rank, world):
    dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=world,
                            timeout=timedelta(seconds=60))
    for part in [all_reduce, rooted, gathers, reduce_scatters, all_to_all, messages, groups, asynchronous, objects]:
        part(rank, world)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("torch", torch.__version__, flush=True)
    for line in [" ".join(sys.argv[1:])] if len(sys.argv) > 1 else sys.stdin:
        init_method, rank, world = line.split()
        run(init_method, int(rank), int(world))
        print("ok", flush=True)
