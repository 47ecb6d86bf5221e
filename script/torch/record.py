#!/usr/bin/env python3
"""Records what the ranks of a PyTorch world say to their store, and compares it with an earlier recording.

    record.py                 compares with the recording of this version, or of the last version before it
    record.py --write         writes the recording of this version

Three ranks of Gloo make groups and call what else may need the store. Each rank reaches PyTorch's own TCPStore through a relay
that notes its requests. A recording also has what Python tells about NCCL without a GPU: names, defaults, and the keys in
PyTorch's headers. Ends with 1 if there are differences.
"""

import difflib
import os
import re
import selectors
import socket
import struct
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

HERE = Path(__file__).resolve().parent
WORLD = 3
TIMEOUT = timedelta(seconds=60)
LIMIT = 200  # seconds for all of it, which takes ten
LOOPBACK = "127.0.0.1"

# The fields of each request: k a key, v a value, n a number, m many of what follows.
OPCODES = [
    ("VALIDATE", "i"), ("SET", "kv"), ("COMPARE_SET", "kvv"), ("GET", "k"), ("ADD", "kn"), ("CHECK", "mk"), ("WAIT", "mk"),
    ("GETNUMKEYS", ""), ("DELETE_KEY", "k"), ("APPEND", "kv"), ("MULTI_GET", "mk"), ("MULTI_SET", "mkv"), ("CANCEL_WAIT", ""),
    ("PING", "i"), ("QUEUE_PUSH", "kv"), ("QUEUE_POP", "k"), ("QUEUE_LEN", "k"), ("LIST_KEYS", ""), ("BARRIER", "kn"),
]


class Incomplete(Exception):
    """More bytes must arrive first."""


class Requests:
    """Splits the bytes of a connection into requests."""

    def __init__(self):
        self.bytes = b""
        self.at = 0

    def take(self, count):
        if self.at + count > len(self.bytes):
            raise Incomplete
        self.at += count
        return self.bytes[self.at - count:self.at]

    def number(self):
        return struct.unpack("<q", self.take(8))[0]

    def text(self):
        return self.take(self.number())

    def fields(self, kinds):
        for place, kind in enumerate(kinds):
            if kind == "m":
                for _ in range(self.number()):
                    yield from self.fields(kinds[place + 1:])
                return
            if kind == "i":
                self.take(4)  # a magic number, or one that is echoed
            elif kind == "n":
                yield str(self.number())
            else:
                yield self.text().decode() if kind == "k" else value(self.text())

    def read(self, more):
        self.bytes += more
        try:
            while self.bytes:
                self.at = 0
                code = self.take(1)[0]
                if code >= len(OPCODES):
                    yield f"request {code}, which is not known"
                    self.bytes = b""
                    return
                name, kinds = OPCODES[code]
                yield " ".join([name, *self.fields(kinds)])
                self.bytes = self.bytes[self.at:]
        except Incomplete:
            return


def value(content):
    """Text as it is, and of other values the size, which for Gloo's addresses depends on the host name."""
    host = socket.gethostname().encode()
    prefixed = struct.pack("<q", len(host)) + host
    if content.startswith(prefixed):
        return f"[host name and {len(content) - len(prefixed)} bytes]"
    if len(content) <= 40 and re.fullmatch(rb"[!-~]+", content):
        return f"'{content.decode()}'"
    return f"[{len(content)} bytes]"


class Relay:
    """Passes on what ranks send to the store, and notes it by step and rank. Each rank has a port of its own."""

    STORE, CONTROL = range(2)

    def __init__(self, store_port):
        self.store_port = store_port
        self.selector = selectors.DefaultSelector()
        self.step = dict.fromkeys(range(WORLD), "start")
        self.steps = []  # of rank 0, which takes part in all
        self.lines = {}
        self.store_ports = [self.listen(self.STORE, self.connected, rank) for rank in range(WORLD)]
        self.control_ports = [self.listen(self.CONTROL, self.controlled, rank) for rank in range(WORLD)]

    def on_readable(self, source, kind, action):
        self.selector.register(source, selectors.EVENT_READ, (kind, action))

    def listen(self, kind, accepted, rank):
        listener = socket.create_server((LOOPBACK, 0))
        self.on_readable(listener, kind, lambda: accepted(listener.accept()[0], rank))
        return listener.getsockname()[1]

    def note(self, rank, line):
        self.lines.setdefault((self.step[rank], rank), []).append(line)

    def connected(self, client, rank):
        store = socket.create_connection((LOOPBACK, self.store_port))
        requests = Requests()

        def asked(content):
            for request in requests.read(content):
                self.note(rank, request)

        self.pass_on(client, store, asked)
        self.pass_on(store, client, lambda content: None)

    def pass_on(self, source, target, seen):
        source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def readable():
            content = source.recv(1 << 16)
            if content:
                seen(content)
                target.sendall(content)
            else:
                self.selector.unregister(source)
                target.shutdown(socket.SHUT_WR)

        self.on_readable(source, self.STORE, readable)

    def controlled(self, control, rank):
        lines = control.makefile("rw")

        def readable():
            word, _, text = lines.readline().strip().partition(" ")
            if word == "step":
                self.step[rank] = text
                if rank == 0:
                    self.steps.append(text)
            elif word == "note":
                self.note(rank, text)
            else:
                self.selector.unregister(control)
                return
            print("ok", file=lines, flush=True)

        self.on_readable(control, self.CONTROL, readable)

    def serve(self, running):
        """Until the ranks have ended. What a rank sent before it tells its next step is noted first."""
        end = time.monotonic() + LIMIT
        while running():
            if time.monotonic() > end:
                sys.exit(f"the ranks of the recorded world did not end in {LIMIT} s; their steps: {self.step}")
            events = [key.data for key, _ in self.selector.select(0.1)]
            first = [event for event in events if event[0] == self.STORE] or events
            for _, action in first:
                try:
                    action()
                except (ConnectionError, OSError):
                    continue  # the other side has closed the connection


class Rank:
    """What one rank of the world does."""

    def __init__(self, rank, store_port, control_port):
        self.rank = rank
        self.store_port = store_port
        self.control = socket.create_connection((LOOPBACK, control_port)).makefile("rw")

    def tell(self, line):
        print(line, file=self.control, flush=True)
        assert self.control.readline() == "ok\n"

    def step(self, name, call, *arguments, **options):
        """Calls with the step's name told, and notes what is raised."""
        self.tell("step " + name)
        try:
            return call(*arguments, **options)
        except Exception as e:
            self.tell(f"note raises {type(e).__name__}")
            print(f"{name}: {e}", file=sys.stderr)
            return None

    def run(self):
        os.environ.update(
            RANK=str(self.rank), WORLD_SIZE=str(WORLD), MASTER_ADDR=LOOPBACK, MASTER_PORT=str(self.store_port),
            TORCHELASTIC_USE_AGENT_STORE="True",
        )
        self.step("init_process_group", dist.init_process_group, "gloo", timeout=TIMEOUT)
        self.operations()
        self.groups()
        self.step("barrier at the end", dist.barrier)
        self.step("destroy_process_group", dist.destroy_process_group)

        store = self.step("TCPStore", dist.TCPStore, LOOPBACK, self.store_port, WORLD, False, TIMEOUT)
        prefixed = dist.PrefixStore("prefix", store)
        self.step("init_process_group with store=", dist.init_process_group, "gloo", store=prefixed, rank=self.rank,
                  world_size=WORLD, timeout=TIMEOUT)
        self.step("new_group with store=", dist.new_group, [0, 2])
        self.step("barrier at the end with store=", dist.barrier)
        self.step("destroy_process_group with store=", dist.destroy_process_group)
        if self.rank == 0:
            self.requests(store, prefixed)

    def operations(self):
        tensor = torch.ones(4)
        self.step("all_reduce", dist.all_reduce, tensor)
        if self.rank < 2:
            self.step("send, recv", dist.recv if self.rank else dist.send, tensor, 1 - self.rank)
        self.step("barrier", dist.barrier)
        self.step("monitored_barrier", dist.monitored_barrier)
        self.step("all_gather_object", dist.all_gather_object, [None] * WORLD, b"object")
        self.step("broadcast_object_list", dist.broadcast_object_list, [b"object"], 0)

    def groups(self):
        # First of all: 2.13 hashes the number of groups that a rank is in, which must be equal on its ranks.
        if self.rank < 2:
            self.step("new_group [0, 1] with use_local_synchronization", dist.new_group, [0, 1],
                      use_local_synchronization=True)
        pair = self.step("new_group [0, 1]", dist.new_group, [0, 1])
        self.step("new_group [0, 2]", dist.new_group, [0, 2])
        if self.rank < 2:
            self.step("barrier of a group", dist.barrier, pair)
        self.step("split_group [[0, 1], [2]]", dist.split_group, None, [[0, 1], [2]])
        self.step("new_group [1, 2] after the others", dist.new_group, [1, 2])

    def requests(self, store, prefixed):
        self.step("set", store.set, "k", "v1")
        self.step("get", store.get, "k")
        self.step("add", store.add, "n", -7)
        self.step("check", store.check, ["k", "none"])
        self.step("compare_set", store.compare_set, "c", "", "first")
        self.step("wait", store.wait, ["k", "c"])
        self.step("wait, timeout", store.wait, ["none"], timedelta(milliseconds=100))
        self.step("append", store.append, "a", "ab")
        self.step("multi_set", store.multi_set, ["m1", "m2"], ["A", "BB"])
        self.step("multi_get", store.multi_get, ["m1", "m2"])
        self.step("num_keys", store.num_keys)
        self.step("list_keys", store.list_keys)
        self.step("delete_key", store.delete_key, "k")
        self.step("queue_push", store.queue_push, "q", "x1")
        self.step("queue_len", store.queue_len, "q")
        self.step("queue_pop", store.queue_pop, "q")
        self.step("queue_pop, empty", store.queue_pop, "q", False)
        self.step("barrier of a store", store.barrier, "b", 1, TIMEOUT)
        self.step("barrier of a PrefixStore", prefixed.barrier, "b", 1, TIMEOUT)
        self.step("set of a PrefixStore", prefixed.set, "k", "v")
        self.step("clone", lambda: store.clone().set("k", "v2"))


def messages():
    """Lines of what the ranks sent, by step and rank."""
    server = dist.TCPStore(LOOPBACK, 0, None, True, TIMEOUT, wait_for_workers=False)
    relay = Relay(server.port)
    ports = zip(relay.store_ports, relay.control_ports)
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("TORCH", "GLOO_"))}
    environment["TORCH_CPP_LOG_LEVEL"] = "ERROR"
    ranks = [
        subprocess.Popen([sys.executable, "-W", "ignore", __file__, "--rank", str(rank), *map(str, pair)],
                         env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for rank, pair in enumerate(ports)
    ]
    try:
        relay.serve(lambda: any(each.poll() is None for each in ranks))
    finally:
        for each in ranks:
            each.kill()
    for rank, each in enumerate(ranks):
        said = each.stderr.read()
        if each.wait() != 0:
            sys.exit(f"rank {rank} of the recorded world ended with {each.returncode}: {said}")
    for step in relay.steps:
        for rank in range(WORLD):
            for line in relay.lines.get((step, rank), []):
                yield step, f"rank {rank}", line


def names():
    """What Python and the headers tell of names and keys."""
    c10d = dist.distributed_c10d
    yield "default timeout", "gloo", f"{c10d._get_default_timeout('gloo').total_seconds():g} s"
    for device, backend in sorted(dist.Backend.default_device_backend_map.items()):
        yield "default backend", device, backend
    for backend in "gloo", "nccl", "nccl2", "nccl-lazy", "nccl-legacy":
        known = backend in dist.Backend.backend_list
        yield "backend", backend, ", ".join(dist.Backend.backend_capability[backend]) if known else "not known"
    for source in c10d, sys.modules["torch.distributed.rendezvous"]:
        text = Path(source.__file__).read_text()
        for name in sorted(set(re.findall(r"\"(TORCH[A-Z]*_[A-Z0-9_]+)\"", text))):
            yield "variable", Path(source.__file__).name, name
    headers = Path(torch.__file__).parent / "include" / "torch" / "csrc" / "distributed" / "c10d"
    for header in sorted(headers.rglob("*.hpp")):
        where = str(header.relative_to(headers))
        if "nccl" in where.lower() and not where.startswith("symm_mem"):
            yield "header", where, "is there"
            text = header.read_text()
            for name, key in re.findall(r"\b(k\w*Key\w*)\W*=\s*\"([^\"]*)\"", text):
                yield "header", where, f"{name} {key}"
            if "TORCH_NCCL_RANKS_PER_ROOT" in text:
                yield "header", where, "TORCH_NCCL_RANKS_PER_ROOT"


def recorded():
    return [" | ".join(parts) for parts in [*messages(), *names()]]


def minor(version):
    return tuple(map(int, version.split(".")[:2]))


def recording_for(version):
    """The recording of this version, or else of the last one before it, or the first one."""
    files = sorted(HERE.glob("recorded-*.txt"), key=lambda file: minor(version_of(file)))
    before = [file for file in files if minor(version_of(file)) <= minor(version)]
    return (before or files[:1])[-1]


def version_of(file):
    return file.stem.removeprefix("recorded-")


def by_place(lines):
    places = {}
    for line in lines:
        place, _, text = line.rpartition(" | ")
        places.setdefault(place.replace(" | ", ", "), []).append(text)
    return places


def differences(here, now, there, before):
    """In words, what is different between the lines of two versions."""
    now, before = by_place(now), by_place(before)
    for place in dict.fromkeys([*before, *now]):
        new, old = now.get(place, []), before.get(place, [])
        if sorted(new) == sorted(old):
            if new != old:
                yield f"{place}: {here} has another order than {there}: {'; '.join(new)}"
            continue
        for change in difflib.ndiff(old, new):
            if change[0] == "+":
                yield f"{place}: only {here} has: {change[2:]}"
            elif change[0] == "-":
                yield f"{place}: only {there} has: {change[2:]}"


def main():
    version = torch.__version__
    lines = recorded()
    if sys.argv[1:] == ["--write"]:
        file = HERE / f"recorded-{'.'.join(map(str, minor(version)))}.txt"
        file.write_text(f"# PyTorch {version}: step, rank, request. Written by script/torch/record.py --write.\n"
                        + "".join(line + "\n" for line in lines))
        print(f"wrote {file.name}")
        return 0
    file = recording_for(version)
    before = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    found = list(differences(f"PyTorch {version}", lines, version_of(file), before))
    for each in found:
        print(each)
    print(f"PyTorch {version} and the recording of PyTorch {version_of(file)}: "
          + (f"{len(found)} differences" if found else f"no difference in {len(lines)} lines"))
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        torch.set_num_threads(1)
        Rank(*map(int, sys.argv[2:])).run()
    else:
        sys.exit(main())
