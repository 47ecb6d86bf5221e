"""Worlds of two ranks on one GPU, one of PyTorch and one of Java, each in fresh processes.

    torch_world.py [--modes MODE,...] [--backend gloo] JAVA_COMMAND...

A mode is lazy, eager, both or death, and the rank of PyTorch: lazy-0. Prints one line for each mode, and what its ranks
printed. JAVA_COMMAND starts org.jccl.nccl.TorchWorldRank; mode, backend, rank and port are added to it. With gloo the worlds
are on the host. Exits with 77 where there is no PyTorch with CUDA and NCCL.
"""

import argparse
import faulthandler
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import timedelta

MODES = "lazy-0,eager-0,both-0,death-1,lazy-1,eager-1,both-1,death-0"  # a shortage of time is at the expense of the last
TOTAL_SECONDS = 190
MODE_SECONDS = 45
RANK_SECONDS = 30  # before the mode's time is over, so that a rank says what it waited for
SLOWNESS_ON_HOST = 3  # among other tests
DEATH = 9
here = os.path.dirname(os.path.abspath(__file__))

try:
    import torch
    import torch.distributed as dist
except ImportError as missing:
    print(missing)
    sys.exit(77)

# Beside this file in the pack.
sys.path[:0] = [here, os.path.join(here, "..", "..", "..", "examples", "pytorch-interop")]
import collectives


def rank_of_pytorch(mode, rank, port, backend):
    faulthandler.register(signal.SIGUSR1)
    on_gpu = backend == "nccl"
    if on_gpu:
        torch.cuda.set_device(0)
        collectives.device = torch.device("cuda:0")
    if mode == "both":
        backend = "cpu:gloo,cuda:nccl" if on_gpu else "cpu:gloo"
    dist.init_process_group(
        backend,
        init_method=f"tcp://127.0.0.1:{port}",
        rank=rank,
        world_size=2,
        timeout=timedelta(seconds=RANK_SECONDS * slowness(on_gpu)),
        device_id=collectives.device if on_gpu and mode == "eager" else None,
    )
    if mode == "death":
        collectives.sum_once(rank, 2)
        time.sleep(1)  # NCCL's threads may still be sending
        os._exit(DEATH)
    for part in collectives.ANYWHERE:
        tell(part)
        collectives.run_parts([part], rank, 2)
    if mode == "both" or not on_gpu:
        collectives.device = torch.device("cpu")
        for part in collectives.ON_HOST:
            tell(part)
            collectives.run_parts([part], rank, 2)
    print("every result is right", flush=True)
    dist.destroy_process_group()
    print("the world is destroyed", flush=True)


def slowness(on_gpu):
    return 1 if on_gpu else SLOWNESS_ON_HOST


def tell(part):
    print(part.__name__, flush=True)


def loaded(name):
    """The file that this process has of a library, or None."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.partition("/")[1:]
            if path[0] and os.path.basename(path[1]).startswith(name):
                return "".join(path).strip()
    return None


def of_pytorch():
    """Ranks of one communicator must have the same version of NCCL: PyTorch's own, wherever else Java would find another."""
    environment = {}
    for variable, name in (("JCCL_NCCL_LIBRARY", "libnccl.so"), ("JCCL_NCCL_CUDART", "libcudart.so")):
        path = loaded(name)
        print(f"{name}: {path or 'PyTorch has none of its own'}", flush=True)
        if path:
            environment[variable] = path
    return environment


def free_port():
    """Below the ports of outgoing connections, one of which would take it before rank 0 serves the store."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def start(command, rank, environment, log):
    environment = {"GLOO_SOCKET_IFNAME": "lo", **os.environ, **environment, "NCCL_HOSTID": f"rank{rank}"}
    return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)


def await_both(python, java, seconds, may_fail):
    """Whether both ended in time; where one has failed, the other has 15 seconds to notice."""
    end = time.monotonic() + seconds
    while python.poll() is None or java.poll() is None:
        if time.monotonic() > end:
            return False
        if not may_fail and (python.poll() or java.poll()):
            end = min(end, time.monotonic() + 15)
            may_fail = True
        time.sleep(0.05)
    return True


def run(name, seconds, arguments):
    """Whether the mode passed."""
    mode, rank = name.split("-")
    rank, port, began = int(rank), free_port(), time.monotonic()
    with tempfile.TemporaryFile("w+") as python_log, tempfile.TemporaryFile("w+") as java_log:
        own = [sys.executable, "-W", "ignore", os.path.abspath(__file__), "--backend", arguments.backend]
        python = start([*own, "--rank", name, "--port", str(port)], rank, {}, python_log)
        java = start(
            [*arguments.java, mode, arguments.backend, str(1 - rank), str(port)], 1 - rank, arguments.of_pytorch, java_log
        )
        try:
            ended = await_both(python, java, seconds, mode == "death")
            if not ended:
                # Both print their stacks.
                for process, number in ((python, signal.SIGUSR1), (java, signal.SIGQUIT)):
                    if process.poll() is None:
                        process.send_signal(number)
                time.sleep(2)
        finally:
            python.kill()
            java.kill()
        codes = python.wait(), java.wait()
        passed = ended and codes == (DEATH if mode == "death" else 0, 0)
        outcome = "passed" if passed else "FAILED" if ended else "FAILED, it did not end in time"
        print(f"{name}: {outcome}, {time.monotonic() - began:.1f} s; Python ended with {codes[0]}, Java with {codes[1]}")
        for language, log in (("Python", python_log), ("Java", java_log)):
            log.seek(0)
            for line in log.read().splitlines()[-20 if passed else -200:]:
                print(f"    {language}: {line}")
        sys.stdout.flush()
        return passed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modes", default=MODES)
    parser.add_argument("--backend", choices=["nccl", "gloo"], default="nccl")
    parser.add_argument("--rank", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("java", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if arguments.rank:
        mode, rank = arguments.rank.split("-")
        rank_of_pytorch(mode, int(rank), arguments.port, arguments.backend)
        return 0
    print(f"torch {torch.__version__}", flush=True)
    if arguments.backend == "nccl" and not (torch.cuda.is_available() and dist.is_nccl_available()):
        print("no CUDA device or no NCCL")
        return 77
    arguments.of_pytorch = of_pytorch() if arguments.backend == "nccl" else {}
    factor = slowness(arguments.backend == "nccl")
    end = time.monotonic() + TOTAL_SECONDS * factor
    failed, modes = [], arguments.modes.split(",")
    for name in modes:
        seconds = min(MODE_SECONDS * factor, end - time.monotonic())
        if seconds < 5:
            print(f"{name}: not started, the time is over")
        if seconds < 5 or not run(name, seconds, arguments):
            failed.append(name)
    print(f"{len(modes) - len(failed)} of {len(modes)} modes passed" + "".join(f", {name} failed" for name in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
