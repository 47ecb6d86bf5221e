"""A PyTorch rank of a random plan; see TorchPlan.java, which makes and explains it.

    python torch_random.py PLAN INIT_METHOD RANK WORLD_SIZE TIMEOUT_SECONDS
"""

import sys
from datetime import timedelta

import torch
import torch.distributed as dist

TYPES = {"int32": torch.int32, "int64": torch.int64, "float32": torch.float32, "uint8": torch.uint8}
OPS = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX}


def data(step, rank, count, dtype):
    return ((torch.arange(count) * 7 + rank * 3 + step) % 5 + 1).to(dtype)


def expect(step, what, actual, wanted):
    if not torch.equal(actual, wanted):
        raise AssertionError(f"WRONG step {step} {what}: {actual[:9]} instead of {wanted[:9]}")


class Ranks:
    """One group, and the operations of a plan on it."""

    def __init__(self, group):
        self.group = group
        self.ranks = dist.get_process_group_ranks(group)
        self.rank = dist.get_rank(group)
        self.size = len(self.ranks)

    def run(self, step, what, dtype, count, root, op):
        mine = data(step, self.rank, count, dtype)
        parts = [data(step, r, count, dtype) for r in range(self.size)]
        reduced = torch.stack(parts).sum(0).to(dtype) if op == "sum" else torch.stack(parts).max(0).values
        reduce_op = OPS[op]
        root_rank = self.ranks[root]
        whole = data(step, self.rank, count * self.size, dtype)
        here = slice(self.rank * count, (self.rank + 1) * count)
        group = self.group
        if what == "all_reduce":
            dist.all_reduce(mine, reduce_op, group=group)
            expect(step, what, mine, reduced)
        elif what == "reduce":
            dist.reduce(mine, root_rank, reduce_op, group=group)
            if self.rank == root:
                expect(step, what, mine, reduced)
        elif what == "broadcast":
            dist.broadcast(mine, root_rank, group=group)
            expect(step, what, mine, parts[root])
        elif what == "all_gather":
            got = [torch.zeros_like(mine) for _ in parts]
            dist.all_gather(got, mine, group=group)
            expect(step, what, torch.cat(got), torch.cat(parts))
        elif what == "gather":
            got = [torch.zeros_like(mine) for _ in parts] if self.rank == root else None
            dist.gather(mine, got, root_rank, group=group)
            if got:
                expect(step, what, torch.cat(got), torch.cat(parts))
        elif what == "scatter":
            got = torch.zeros_like(mine)
            dist.scatter(got, parts if self.rank == root else None, root_rank, group=group)
            expect(step, what, got, mine)
        elif what == "reduce_scatter":
            got = torch.zeros_like(mine)
            dist.reduce_scatter_tensor(got, whole, dist.ReduceOp.SUM, group=group)
            wholes = [data(step, r, count * self.size, dtype) for r in range(self.size)]
            expect(step, what, got, torch.stack(wholes).sum(0).to(dtype)[here])
        elif what == "all_to_all":
            got = torch.zeros_like(whole)
            dist.all_to_all_single(got, whole, group=group)
            wholes = [data(step, r, count * self.size, dtype)[here] for r in range(self.size)]
            expect(step, what, got, torch.cat(wholes))
        elif what == "message":
            to = (root + 1) % self.size
            if self.rank == root:
                dist.send(mine, self.ranks[to], group=group, tag=step)
            elif self.rank == to:
                dist.recv(mine, root_rank, group=group, tag=step)
                expect(step, what, mine, parts[root])
        elif what == "several":
            tensors = [data(step, self.rank, count + i, dtype) for i in range(8)]
            works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor in tensors]
            for work in works:
                work.wait()
            for i, tensor in enumerate(tensors):
                every = [data(step, r, count + i, dtype) for r in range(self.size)]
                expect(step, what, tensor, torch.stack(every).sum(0).to(dtype))
        else:
            dist.barrier(group=group)


def main(plan, init_method, rank, world, timeout):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=world,
                            timeout=timedelta(seconds=timeout))
    groups = {"0": Ranks(dist.group.WORLD)}
    for step, line in enumerate(open(plan)):
        word, name, *rest = line.split()
        try:
            if word == "group":
                members = [int(r) for r in rest]
                made = dist.new_group(members)
                if rank in members:
                    groups[name] = Ranks(made)
            elif name not in groups:
                continue
            elif word == "close":
                dist.destroy_process_group(groups.pop(name).group)
            else:
                dtype, count, root, op = rest
                groups[name].run(step, word, TYPES[dtype], int(count), int(root), op)
        except Exception as e:
            raise RuntimeError(f"step {step} ({line.strip()})") from e
    dist.destroy_process_group()
    print("ok", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
