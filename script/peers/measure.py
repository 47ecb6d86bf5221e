"""Measures libraries in turns: all of them run all the time, each has a short turn at one operation and size, then the
next one. What else the machine does hits all alike, and ratios of turns beside each other are worth more than times.

Each rank of each peer connects to a Unix socket here, says `hello RANK VERSION`, and waits there, using no processor, for
`OPERATION FLOATS WARM CHUNKS CALLS`: so many calls that are not timed, and then so many times so many. It answers
`ok NANOSECONDS MEDIAN` with the time of all, and the median of the chunks; or `none REASON` or `wrong REASON`. The first
turn of an operation and size checks its result. The time of a turn is rank 0's median, which a rank that lost its
processor for a while does not change; the mean of the slowest rank, which shows that, is kept beside it.

The root of a broadcast or reduce goes round, so that no rank can be calls ahead of the others.
"""

import math
import os
import selectors
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

OPERATIONS = "all_reduce broadcast reduce all_gather reduce_scatter all_to_all sendrecv barrier".split()
PARTS = ("all_gather", "reduce_scatter", "all_to_all")
ROOTED = ("broadcast", "reduce")
LEAST_CHUNK = 20e-6  # seconds; below, a look at the clock would be part of what is measured
MOST_CHUNKS = 10_000
START_SECONDS = 90
ANSWER_SECONDS = 60


class PeerFailed(Exception):
    """A peer did not do what it was told to. The message is for the user."""


class Missing(Exception):
    """A peer is not there. The message says why, and how to get it."""


def floats_of(operation, size, ranks):
    """Floats in the larger of a rank's buffers, of all parts where there are parts: at least one for each rank."""
    if operation == "barrier":
        return 0
    return max(1, size // 4 // ranks) * ranks if operation in PARTS else max(1, size // 4)


def cases(operations, sizes, ranks):
    """(operation, bytes, floats), without sizes that come to the same."""
    for operation in operations:
        counts = dict.fromkeys(floats_of(operation, size, ranks) for size in sizes)
        for floats in counts:
            yield operation, floats * 4, floats


def plan(operation, ranks, seconds, call):
    """(warm, chunks, calls in a chunk) that fill a turn when a call takes so many seconds."""
    calls = min(10_000, max(1, math.ceil(LEAST_CHUNK / call)))
    if operation in ROOTED:
        # A rank's calls are short and long in turn; a chunk has as many of each.
        calls = math.ceil(calls / ranks) * ranks
    chunks = min(MOST_CHUNKS, max(3, int(seconds / call / calls)))
    return calls * chunks // 5, chunks, calls


class Peer:
    """The processes of a peer, and a connection with each of its ranks."""

    def __init__(self, name, ranks, commands, folder):
        """`commands` are (arguments, environment), one for each process; {socket} is where its ranks are to connect."""
        self.name = name
        self.seconds = 0  # of a call, as of late
        self.call = None  # which that was
        self.connections = {}
        self.versions = set()
        self.processes = []
        self.output = folder / f"{name}.log"
        path = folder / f"{name}.socket"
        with socket.socket(socket.AF_UNIX) as listener, self.output.open("wb") as log:
            listener.bind(str(path))
            listener.listen(ranks)
            for arguments, environment in commands:
                arguments = [str(each).replace("{socket}", str(path)) for each in arguments]
                self.processes.append(
                    subprocess.Popen(
                        arguments,
                        env={**os.environ, **environment},
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )
            try:
                self._accept(listener, ranks)
            except BaseException:
                self.kill()
                raise

    def _accept(self, listener, ranks):
        end = time.monotonic() + START_SECONDS
        listener.settimeout(0.2)
        while len(self.connections) < ranks:
            try:
                connection, _ = listener.accept()
            except socket.timeout:
                if any(process.poll() is not None for process in self.processes):
                    raise self._failed("did not start")
                if time.monotonic() > end:
                    raise self._failed(f"did not start in {START_SECONDS} s") from None
                continue
            connection.settimeout(START_SECONDS)
            lines = connection.makefile("r")
            words = lines.readline().strip().split(" ", 2)
            if len(words) < 3:
                raise self._failed("a rank ended before it said hello")
            _, rank, version = words
            self.connections[int(rank)] = connection, lines
            self.versions.add(" ".join(version.replace("MPICH Version:", "MPICH").split()))

    def turn(self, operation, floats, warm, chunks, calls):
        """Microseconds of a call: rank 0's median of the chunks, and the mean of all calls on the slowest rank."""
        line = f"{operation} {floats} {warm} {chunks} {calls}\n".encode()
        answers = {}
        try:
            for connection, _ in self.connections.values():
                connection.sendall(line)
            end = time.monotonic() + ANSWER_SECONDS
            with selectors.DefaultSelector() as waiting:
                for rank, (connection, lines) in self.connections.items():
                    waiting.register(connection, selectors.EVENT_READ, (rank, lines))
                while len(answers) < len(self.connections):
                    ready = waiting.select(max(0, end - time.monotonic()))
                    if not ready:
                        raise self._failed(f"rank {self._silent(answers)} gave no answer in {ANSWER_SECONDS} s")
                    for key, _ in ready:
                        rank, lines = key.data
                        answers[rank] = lines.readline().split()
                        waiting.unregister(key.fileobj)
                        if not answers[rank]:
                            raise self._failed(f"rank {rank} ended")
        except OSError as e:
            raise self._failed(f"lost a rank: {e}") from e
        for rank, (word, *rest) in sorted(answers.items()):
            if word == "none":
                raise Missing(" ".join(rest))
            if word != "ok":
                raise self._failed(f"rank {rank}: {word} {' '.join(rest)}")
        slowest = max(int(answer[1]) for answer in answers.values()) / chunks / calls / 1e3
        return int(answers[0][2]) / calls / 1e3, slowest

    def _silent(self, answers):
        return ", ".join(str(rank) for rank in sorted(self.connections) if rank not in answers)

    def measure(self, operation, floats, seconds):
        """A turn of about so many seconds; turns before it, where this is new, say how many calls that are."""
        ranks = len(self.connections)
        if self.call != (operation, floats):
            self.call = None
            self.seconds = self.turn(operation, floats, 1, 1, ranks)[1] / 1e6
            if self.seconds < seconds / 10:
                self.seconds = self.turn(operation, floats, *plan(operation, ranks, seconds, self.seconds))[1] / 1e6
            self.call = operation, floats
        result = self.turn(operation, floats, *plan(operation, ranks, seconds, self.seconds))
        self.seconds = result[1] / 1e6
        return result

    def _failed(self, what):
        ends = [f"a process ended with code {process.poll()}" for process in self.processes if process.poll()]
        said = self.output.read_text(errors="replace").strip().splitlines()[-8:]
        return PeerFailed("; ".join([what, *ends[:1]]) + (": " + " / ".join(said) if said else ""))

    def end(self):
        """Lets it end as it should; says whether it failed at that."""
        try:
            for connection, lines in self.connections.values():
                connection.sendall(b"end\n")
                lines.close()
                connection.close()
            end = time.monotonic() + ANSWER_SECONDS
            codes = [process.wait(max(0.1, end - time.monotonic())) for process in self.processes]
            if any(codes):
                raise self._failed("did not end well")
        except subprocess.TimeoutExpired:
            raise self._failed(f"did not end in {ANSWER_SECONDS} s") from None
        except OSError as e:
            raise self._failed(f"lost a rank: {e}") from e
        finally:
            self.kill()

    def kill(self):
        for process in self.processes:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()


def ticks():
    """(busy, all) of the machine's processors, in ticks; what a hypervisor took away was busy."""
    user, nice, system, idle, wait, irq, soft, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    busy = user + nice + system + irq + soft + steal
    return busy, busy + idle + wait


def own_ticks():
    """Of this process and those below it."""
    parents, used = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it ended meanwhile
        pid = int(file.parent.name)
        parents[pid] = int(fields[1])
        used[pid] = int(fields[11]) + int(fields[12])

    def is_own(pid):
        while pid > 1:
            if pid == os.getpid():
                return True
            pid = parents.get(pid, 0)
        return False

    return sum(count for pid, count in used.items() if is_own(pid))


class Session:
    """One start of all peers, with one number of ranks."""

    def __init__(self, launchers, ranks, options, say, write):
        """`launchers` are by name functions of ranks that return a peer's commands, or raise Missing."""
        self.launchers, self.ranks, self.options = launchers, ranks, options
        self.say, self.write = say, write
        self.peers, self.left_out, self.failed = {}, {}, {}

    def run(self):
        """Measures; what was had of a session that is broken off has been written."""
        with tempfile.TemporaryDirectory(prefix="peers") as folder:
            try:
                self._start(Path(folder))
                self.write(
                    {
                        "ranks": self.ranks,
                        "peers": {name: " ".join(sorted(peer.versions)) for name, peer in self.peers.items()},
                        "left_out": self.left_out,
                        "failed": self.failed,
                        "load": os.getloadavg()[0],
                    }
                )
                busy, total = ticks()
                own = own_ticks()
                self._measure()
                now_busy, now_total = ticks()
                others = now_busy - busy - (own_ticks() - own)
                self._end()
                self.write({"others": round(max(0, others) / max(1, now_total - total), 3), "failed": self.failed})
            finally:
                for peer in self.peers.values():
                    peer.kill()

    def _start(self, folder):
        for name, launcher in self.launchers.items():
            try:
                self.peers[name] = Peer(name, self.ranks, list(launcher(self.ranks)), folder)
                self.say(f"{name}: {', '.join(sorted(self.peers[name].versions))}")
            except Missing as e:
                self.left_out[name] = str(e)
                self.say(f"{name}: left out, {e}")
            except PeerFailed as e:
                self._fails(name, "at its start", e)

    def _fails(self, name, when, error):
        self.failed[name] = f"{when}: {error}"
        self.say(f"{name} FAILED {when}: {error}")
        if name in self.peers:
            self.peers.pop(name).kill()

    def _measure(self):
        options = self.options
        warm = None
        for operation, size, floats in cases(options.operations, options.sizes, self.ranks):
            if warm != operation:
                warm = operation
                self._warm_up(operation, floats)
            times, means = {}, {}
            for number in range(options.rounds):
                names = list(self.peers)
                for i in range(len(names)):
                    # Who goes first changes, so that nobody always follows the same one.
                    name = names[(i + number) % len(names)]
                    result = self._turn(name, operation, floats, options.turn)
                    if result is not None:
                        for values, value in zip((times, means), result):
                            values.setdefault(name, [None] * options.rounds)[number] = float(f"{value:.4g}")
            self.write({"ranks": self.ranks, "op": operation, "bytes": size, "us": times, "mean_us": means})
            self.say(f"{self.ranks} ranks, {operation} {size}: " + summary(times))

    def _warm_up(self, operation, floats):
        """For who compiles while running."""
        for name in list(self.peers):
            end = time.monotonic() + self.options.warm_up
            while time.monotonic() < end and self._turn(name, operation, floats, self.options.warm_up / 4) is not None:
                pass

    def _turn(self, name, operation, floats, seconds):
        if name not in self.peers:
            return None
        try:
            return self.peers[name].measure(operation, floats, seconds)
        except Missing as e:
            self.left_out.setdefault(name, f"{operation}: {e}")
        except PeerFailed as e:
            self._fails(name, f"in {operation} of {floats * 4} B, {self.ranks} ranks", e)
        return None

    def _end(self):
        for name in list(self.peers):
            try:
                self.peers[name].end()
            except PeerFailed as e:
                self._fails(name, "at its end", e)


def summary(times):
    from statistics import median

    known = {name: [each for each in values if each is not None] for name, values in times.items()}
    return ", ".join(f"{name} {median(values):.1f}" for name, values in known.items() if values)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def torchrun(command, ranks):
    """A process for each rank, with the variables that torchrun sets."""
    port = str(free_port())
    for rank in range(ranks):
        environment = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
        environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo"}
        yield command, {name: str(value) for name, value in environment.items()}


def mpirun(mpi, command, ranks, environment=None):
    """One process, which starts the ranks."""
    arguments = [f"mpirun.{mpi}", "-n", ranks]
    if mpi == "openmpi":
        arguments += ["--oversubscribe", "--bind-to", "none"]
        arguments += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    # Open MPI's mpirun changes the arguments of what is called java.
    assignments = [f"{name}={value}" for name, value in (environment or {}).items()]
    yield [*arguments, "env", *assignments, *command], {}


def run(command, **options):
    command = list(map(str, command))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise PeerFailed(f"{shlex.join(command)} failed with code {done.returncode}:\n{done.stdout}")
    return done.stdout
