"""PyTorch's TCPStore, as a server and as a client, for script/bench/store.

torch_store.py serve libuv|legacy            prints its port and serves until the standard input ends
torch_store.py load ROUNDS MILLIS NAME:PID:PORT...   latencies of PyTorch's client, as StoreLoad prints them
"""

import statistics
import sys
import time
from datetime import timedelta

from torch.distributed import TCPStore

TIMEOUT = timedelta(seconds=60)


def serve(kind):
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=TIMEOUT, use_libuv=kind == "libuv")
    print(store.port, flush=True)
    sys.stdin.read()


def load(rounds, millis, servers):
    clients = []
    for server in servers:
        name, _, port = server.split(":")
        store = TCPStore("127.0.0.1", int(port), is_master=False, wait_for_workers=False, timeout=TIMEOUT)
        clients.append((name, store))
    for number in range(rounds + 1):
        for turn in range(len(clients)):
            name, store = clients[(turn + number) % len(clients)]
            store.set("present", "value")
            calls = {
                "add": lambda: store.add("counter", 1),
                "check": lambda: store.check(["present"]),
                "get": lambda: store.get("present"),
            }
            for what, call in calls.items():
                print(f"{number};{name};{what};us;{latency(call, millis):.3f}")


def latency(call, millis):
    times = []
    now = time.perf_counter()
    end = now + millis / 1e3
    while now < end:
        call()
        then = time.perf_counter()
        times.append(then - now)
        now = then
    return statistics.median(times) * 1e6


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        load(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
