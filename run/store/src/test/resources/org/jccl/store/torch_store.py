"""Real torch stores, for the tests of our own. The first line printed is torch's version.

torch_store.py client PORT   uses a TCPStore server of ours
torch_store.py server        serves a TCPStore, prints its port, ends when its input does
torch_store.py file PATH     uses a FileStore file that we have open
"""

import sys
import threading
from datetime import timedelta

try:
    import torch
    import torch.distributed as dist
except ImportError as e:
    print(f"no torch: {e}", flush=True)
    sys.exit(0)
print(f"torch {torch.__version__}", flush=True)

LONG = timedelta(seconds=60)


def connect(port, timeout=LONG):
    return dist.TCPStore("127.0.0.1", port, is_master=False, timeout=timeout)


def expect_timeout(call):
    try:
        call()
    except dist.DistStoreError:
        return
    raise AssertionError("no timeout")


def basics(store):
    store.set("py/k", "v1")
    assert store.get("py/k") == b"v1"
    store.set("py/bytes", bytes(range(256)).decode("latin-1"))
    assert store.get("py/bytes").decode() == bytes(range(256)).decode("latin-1")
    assert store.add("py/n", 5) == 5
    assert store.add("py/n", -7) == -2
    assert store.get("py/n") == b"-2"
    assert store.check(["py/k", "py/n"])
    assert not store.check(["py/k", "py/nope"])
    assert store.compare_set("py/cs", "", "first") == b"first"
    assert store.compare_set("py/cs", "bad", "x") == b"first"
    assert store.compare_set("py/cs", "first", "second") == b"second"
    assert store.compare_set("py/cs2", "bad", "x") == b"bad"
    before = store.num_keys()
    assert store.delete_key("py/k")
    assert store.num_keys() == before - 1
    store.append("py/ap", "po")
    store.append("py/ap", "tato")
    assert store.get("py/ap") == b"potato"
    store.multi_set(["py/m1", "py/m2"], ["A", "BB"])
    assert store.multi_get(["py/m2", "py/m1"]) == [b"BB", b"A"]
    store.wait(["py/m1", "py/ap"])


def queues(store):
    store.queue_push("py/q", "x1")
    store.queue_push("py/q", "x2")
    assert store.queue_len("py/q") == 2
    assert store.queue_pop("py/q") == b"x1"
    assert store.queue_pop("py/q", False) == b"x2"
    try:
        store.queue_pop("py/q", False)
    except dist.QueueEmptyError:
        return
    raise AssertionError("popped from an empty queue")


def client(port):
    store = connect(port)
    basics(store)
    assert "py/ap" in store.list_keys()
    assert not any(key.startswith("/") for key in store.list_keys())
    queues(store)

    prefixed = dist.PrefixStore("pre", dist.PrefixStore("fix/", store))
    prefixed.set("k", "prefixed")
    assert prefixed.get("k") == b"prefixed"

    impatient = connect(port, timedelta(milliseconds=200))
    for _ in range(2):
        expect_timeout(lambda: impatient.get("py/never"))
        expect_timeout(lambda: impatient.wait(["py/never"], timedelta(milliseconds=100)))
    assert impatient.get("py/cs") == b"second"

    waiters = [threading.Thread(target=connect(port).get, args=("py/late",)) for _ in range(3)]
    for each in waiters:
        each.start()
    store.clone().set("py/late", "now")
    for each in waiters:
        each.join()

    registered = dist.TCPStore("127.0.0.1", port, 2, False, timeout=LONG)
    registered.set("py/done", "1")
    assert store.get("java/value") == b"from java"
    assert store.queue_pop("java/queue") == b"queued by java"
    store.queue_push("py/queue", "queued by torch")
    store.barrier("both", 2, LONG)
    prefixed.barrier("both", 2, LONG)


def server():
    store = dist.TCPStore("127.0.0.1", 0, None, True, timeout=LONG, wait_for_workers=False)
    print(store.port, flush=True)
    sys.stdin.read()


def file(path):
    store = dist.FileStore(path, 2)
    assert store.get("java/value") == b"from java"
    assert store.add("java/n", 1) == 42
    assert not store.check(["java/deleted"])
    basics(store)
    store.set("py/started", "1")
    added = 0
    while not store.check(["java/added"]):
        store.add("both/n", 1)
        added += 1
    store.set("py/added", str(added))
    store.wait(["java/done"], LONG)


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "client":
        client(int(rest[0]))
    elif mode == "server":
        server()
    else:
        file(rest[0])
    print("ok", flush=True)
