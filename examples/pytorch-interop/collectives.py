"""Every operation that Java and Python ranks share, as the Python ranks call it.

    python collectives.py tcp://HOST:PORT RANK WORLD_SIZE

Without arguments, one line of standard input after the other is such a world; "ok" answers it.
The Java side is TorchCollectives.java in verification/conformance.
"""

import itertools
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16,
         torch.int8, torch.uint8, torch.int32, torch.int64]
LARGE = 1_000_003  # several of gloo's segments, and no multiple of the world size

# PyTorch 2.13 renamed them.
all_gather_single = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
reduce_scatter_single = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)

device = torch.device("cpu")  # of the tensors; a program that imports this one may set another


def data(rank, count, dtype=torch.float32):
    """What a rank contributes: small integers, so that every type holds every result."""
    return (torch.arange(count, device=device) % 5 + rank + 1).to(dtype)


def zeros(count, dtype=torch.float32):
    return torch.zeros(count, dtype=dtype, device=device)


def total(world, count):
    return sum(data(rank, count) for rank in range(world))


def expect(actual, wanted):
    assert torch.equal(actual, wanted.to(actual.dtype)), f"got {actual}, expected {wanted}"


def sum_once(rank, world, count=10):
    tensor = data(rank, count)
    dist.all_reduce(tensor)
    expect(tensor, total(world, count))


def all_reduce(rank, world):
    for dtype in TYPES:
        small = [data(r, 10, dtype) % 2 + 1 for r in range(world)]
        for op, mine, wanted in [
            (dist.ReduceOp.SUM, data(rank, 10, dtype), total(world, 10)),
            (dist.ReduceOp.MAX, data(rank, 10, dtype), data(world - 1, 10)),
            (dist.ReduceOp.MIN, data(rank, 10, dtype), data(0, 10)),
            (dist.ReduceOp.PRODUCT, small[rank], torch.stack(small).prod(0)),
        ]:
            dist.all_reduce(mine, op)
            expect(mine, wanted)
        if dtype.is_floating_point:
            tensor = data(rank, 10, dtype) * world
            dist.all_reduce(tensor, dist.ReduceOp.AVG)
            expect(tensor, total(world, 10))
    flags = data(rank, 10) % 3 == 0
    dist.all_reduce(flags, dist.ReduceOp.MAX)
    expect(flags, sum(data(r, 10) % 3 == 0 for r in range(world)) > 0)
    tensor = data(rank, 10)
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    expect(tensor, total(world, 10) / world)
    for count in [1, LARGE]:
        sum_once(rank, world, count)


def bits(rank, world):
    for op in [dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR]:
        tensor = torch.full((10,), 7 if op == dist.ReduceOp.BAND else 1 << rank, dtype=torch.int32)
        dist.all_reduce(tensor, op)
        expect(tensor, torch.full((10,), 7 if op == dist.ReduceOp.BAND else (1 << world) - 1))


def rooted(rank, world):
    for root in range(world):
        for count in [10, LARGE]:
            broadcast(rank, root, count)
        for op, wanted in [(dist.ReduceOp.SUM, total(world, 10)), (dist.ReduceOp.AVG, total(world, 10) / world)]:
            tensor = data(rank, 10)
            dist.reduce(tensor, root, op)
            if rank == root:
                expect(tensor, wanted)
        gather_and_scatter(rank, world, root, 10)


def broadcast(rank, root, count):
    tensor = data(rank, count)
    dist.broadcast(tensor, root)
    expect(tensor, data(root, count))


def gather_and_scatter(rank, world, root, count):
    parts = [zeros(count) for _ in range(world)] if rank == root else None
    dist.gather(data(rank, count), parts, root)
    for sender, part in enumerate(parts or []):
        expect(part, data(sender, count))
    tensor = zeros(count)
    dist.scatter(tensor, [data(r, count) for r in range(world)] if rank == root else None, root)
    expect(tensor, data(rank, count))


def gathers(rank, world, count=10):
    parts = [zeros(count, torch.int64) for _ in range(world)]
    dist.all_gather(parts, data(rank, count, torch.int64))
    for sender, part in enumerate(parts):
        expect(part, data(sender, count))
    whole = zeros(world * count)
    all_gather_single(whole, data(rank, count))
    expect(whole, torch.cat([data(r, count) for r in range(world)]))


def reduce_scatters(rank, world):
    for op, by in [(dist.ReduceOp.SUM, 1), (dist.ReduceOp.AVG, world)]:
        tensor = zeros(10)
        dist.reduce_scatter(tensor, [data(rank, 10) * (part + 1) for part in range(world)], op)
        expect(tensor, total(world, 10) * (rank + 1) / by)
        reduce_scatter_single(tensor, data(rank, 10 * world), op)
        expect(tensor, total(world, 10 * world)[10 * rank:10 * (rank + 1)] / by)
    tensor = zeros(rank + 1)
    dist.reduce_scatter(tensor, [data(rank, part + 1) for part in range(world)])
    expect(tensor, total(world, rank + 1))


def all_to_all(rank, world):
    tensor = zeros(3 * world)
    dist.all_to_all_single(tensor, data(rank, 3 * world))
    expect(tensor, torch.cat([data(r, 3 * world)[3 * rank:3 * rank + 3] for r in range(world)]))
    parts = [zeros(3) for _ in range(world)]
    dist.all_to_all(parts, [data(rank, 3) * (to + 1) for to in range(world)])
    for sender, part in enumerate(parts):
        expect(part, data(sender, 3) * (rank + 1))


def messages(rank, world):
    for sender, receiver in itertools.permutations(range(world), 2):
        for count in [7, LARGE]:
            if rank == sender:
                dist.send(data(rank, count), receiver)
                dist.isend(data(rank + 1, count), receiver).wait()
            elif rank == receiver:
                tensor = zeros(count)
                dist.recv(tensor, sender)
                expect(tensor, data(sender, count))
                dist.irecv(tensor, sender).wait()
                expect(tensor, data(sender + 1, count))
    before, after = (rank - 1) % world, (rank + 1) % world
    for count in [7, LARGE]:
        tensor = zeros(count)
        batch = [dist.P2POp(dist.isend, data(rank, count), after), dist.P2POp(dist.irecv, tensor, before)]
        for work in dist.batch_isend_irecv(batch):
            work.wait()
        expect(tensor, data(before, count))


def empty(rank, world):
    """Nothing, or nothing for some ranks: by NCCL, PyTorch's ranks exchange empty messages."""
    sum_once(rank, world, 0)
    for root in range(world):
        broadcast(rank, root, 0)
        gather_and_scatter(rank, world, root, 0)
    gathers(rank, world, 0)
    sends = [rank * to for to in range(world)]  # nothing from or to rank 0
    tensor = zeros(sum(sends))
    dist.all_to_all_single(tensor, data(rank, sum(sends)), sends, sends)
    expect(tensor, torch.cat([data(r, r * sum(range(world)))[r * sum(range(rank)):][:r * rank] for r in range(world)]))
    for sender, receiver in itertools.permutations(range(world), 2):
        if rank == sender:
            dist.send(zeros(0), receiver)
        elif rank == receiver:
            dist.recv(zeros(0), sender)


def tagged_messages(rank, world):
    for sender in range(world):
        for receiver in range(world):
            if rank == sender != receiver:
                works = [dist.isend(data(tag, tag), receiver, tag=tag) for tag in [7, 8, 0]]
                for work in works:
                    work.wait()
            elif rank == receiver != sender:
                for tag in [0, 8, 7]:  # not in the order in which they were sent
                    tensor = zeros(tag)
                    dist.recv(tensor, sender, tag=tag)
                    expect(tensor, data(tag, tag))
    if rank != 0:
        dist.send(data(rank, 5), 0, tag=3)
    else:
        senders = set()
        for _ in range(world - 1):
            tensor = zeros(5)
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
            dist.destroy_process_group(group)


def asynchronous(rank, world):
    tensors = [data(rank, count) for count in range(1, 40)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in works:
        work.wait()
    for tensor in tensors:
        expect(tensor, total(world, len(tensor)))


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
    received = [None]
    if rank == 0:
        dist.send_object_list([mine[1]], 1)
        dist.recv_object_list(received, 1)
        assert received == [mine[2]], received
    elif rank == 1:
        dist.recv_object_list(received, 0)
        assert received == [mine[1]], received
        dist.send_object_list([mine[2]], 0)


# With the tensors of any device; those of the host know more.
ANYWHERE = [all_reduce, rooted, gathers, reduce_scatters, all_to_all, messages, groups, asynchronous, empty]
ON_HOST = [bits, tagged_messages, objects]


def run_parts(parts, rank, world):
    for part in parts:
        part(rank, world)
        dist.barrier()


def run(init_method, rank, world):
    dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=world,
                            timeout=timedelta(seconds=60))
    run_parts(ANYWHERE + ON_HOST, rank, world)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("torch", torch.__version__, flush=True)
    for line in [" ".join(sys.argv[1:])] if len(sys.argv) > 1 else sys.stdin:
        init_method, rank, world = line.split()
        run(init_method, int(rank), int(world))
        print("ok", flush=True)
