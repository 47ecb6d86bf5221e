"""A rank of a job that `jccl run` starts, as TorchRanksTest asks for it."""

import datetime
import os
import sys

import torch
import torch.distributed as dist

role = "{ROLE_NAME} {ROLE_RANK}/{ROLE_WORLD_SIZE}".format(**os.environ)
rank = int(os.environ["RANK"])


def sum_of_ranks():
    """All ranks add up rank + 1 with real Gloo; the first attempt fails after that."""
    dist.init_process_group("gloo")
    x = torch.tensor([rank + 1.0])
    dist.all_reduce(x)
    dist.barrier()
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        sys.exit(3)
    print(role, "sum", x.item())
    dist.destroy_process_group()


def listen():
    """Reads what a Java rank wrote to the launcher's store."""
    store = dist.TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        is_master=False,
        timeout=datetime.timedelta(seconds=90),
    )
    assert os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"
    store.wait(["number"])
    print(role, "heard", store.get("number").decode())
    store.barrier("told", 3, datetime.timedelta(seconds=90))


{"sum": sum_of_ranks, "listen": listen}[sys.argv[1]]()
