"""Tables and pictures of what script/bench/peers measured."""

import csv
import json
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

PEERS = {
    "floor-poll": "floor, poll",
    "floor-spin": "floor, spin",
    "jccl-gloo": "JCCL on Gloo",
    "jccl-gloo-polling": "JCCL, busy polling",
    "torch": "PyTorch's Gloo",
    "presets": "JavaCPP presets' Gloo",
    "c-openmpi": "C on Open MPI",
    "jccl-openmpi": "JCCL on Open MPI",
    "mpi4py-openmpi": "mpi4py on Open MPI",
    "java-openmpi": "Open MPI's Java bindings",
    "c-mpich": "C on MPICH",
    "jccl-mpich": "JCCL on MPICH",
    "mpi4py-mpich": "mpi4py on MPICH",
}
# Each has its peers, and the ratios that are shown.
TABLES = {
    "Over TCP": (
        ["floor-poll", "floor-spin", "jccl-gloo", "jccl-gloo-polling", "torch", "presets"],
        [("jccl-gloo", "floor-poll"), ("jccl-gloo", "torch"), ("jccl-gloo", "presets")],
    ),
    "Open MPI": (
        ["c-openmpi", "jccl-openmpi", "mpi4py-openmpi", "java-openmpi"],
        [("jccl-openmpi", "c-openmpi"), ("jccl-openmpi", "mpi4py-openmpi"), ("jccl-openmpi", "java-openmpi")],
    ),
    "MPICH": (
        ["c-mpich", "jccl-mpich", "mpi4py-mpich"],
        [("jccl-mpich", "c-mpich"), ("jccl-mpich", "mpi4py-mpich")],
    ),
}
SHORT = {"jccl-gloo": "JCCL", "jccl-openmpi": "JCCL", "jccl-mpich": "JCCL", "torch": "PyTorch", "presets": "presets"}
SHORT |= {"c-openmpi": "C", "c-mpich": "C", "mpi4py-openmpi": "mpi4py", "mpi4py-mpich": "mpi4py"}
SHORT |= {"floor-poll": "floor", "java-openmpi": "bindings"}
OVER_TCP = ["floor-poll", "jccl-gloo", "torch", "presets"]
OVER_ALL = [*OVER_TCP, "c-openmpi", "jccl-openmpi", "c-mpich", "jccl-mpich"]
# File, operation, ranks, peers.
PICTURES = [("all_reduce.svg", "all_reduce", 2, OVER_TCP)]
SIZES_OF_DOCUMENT = [1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]  # beside the smallest
BUSY = 0.05  # of the processors, from which on others' work is called load


class Results:
    """What a file of results says."""

    def __init__(self):
        self.sessions = defaultdict(dict)
        self.times = defaultdict(lambda: defaultdict(dict))  # [ranks, op, bytes][peer][session, round]

    def median(self, case, peer):
        values = self.times[case].get(peer)
        return statistics.median(values.values()) if values else None

    def ratio(self, case, peer, other):
        """(lower quartile, median, upper quartile) of the ratios of turns beside each other."""
        mine, theirs = self.times[case].get(peer, {}), self.times[case].get(other, {})
        ratios = [micros / theirs[key] for key, micros in mine.items() if key in theirs]
        return quartiles(ratios) if ratios else None


def quartiles(values):
    return tuple(statistics.quantiles(values, n=4, method="inclusive")) if len(values) > 1 else (values[0],) * 3


def read(file):
    results = Results()
    for line in Path(file).read_text().splitlines():
        record = json.loads(line)
        session = record.pop("session")
        results.sessions[session].setdefault("ranks", record.get("ranks"))
        if "op" not in record:
            for key, value in record.items():
                # What is said at the end of a session comes after what was said at its beginning.
                known = results.sessions[session].get(key)
                results.sessions[session][key] = known | value if isinstance(known, dict) else value
            continue
        case = record["ranks"], record["op"], record["bytes"]
        for peer, turns in record["us"].items():
            for number, micros in enumerate(turns):
                if micros is not None:
                    results.times[case][peer][session, number] = micros
    return results


def micros(value):
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def size_of(count):
    for unit, bytes_ in (("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= bytes_ and count % bytes_ == 0:
            return f"{count // bytes_} {unit}"
    return f"{count} B" if count else ""


def ratio_cell(ratio):
    if ratio is None:
        return ""
    low, middle, high = (f"{each:.2f}" if each < 10 else f"{each:.0f}" for each in ratio)
    return f"{middle} ({low} to {high})"


def table(results, ranks, title, sizes=None):
    """Markdown; None when none of its peers was measured."""
    peers, ratios = TABLES[title]
    of_ranks = [case for case in results.times if case[0] == ranks]
    there = [peer for peer in peers if any(peer in results.times[case] for case in of_ranks)]
    ratios = [(one, other) for one, other in ratios if one in there and other in there]
    if not there:
        return None
    head = [f"{ranks} ranks", "bytes", *(PEERS[peer] for peer in there)]
    head += [f"{SHORT[one]} / {SHORT[other]}" for one, other in ratios]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    last, smallest = None, {}
    for case in of_ranks:
        smallest[case[1]] = min(case[2], smallest.get(case[1], case[2]))
    for case in of_ranks:
        _, operation, count = case
        if sizes and count not in sizes and count != smallest[operation]:
            continue
        cells = ["" if operation == last else operation, size_of(count)]
        cells += [micros(results.median(case, peer)) for peer in there]
        cells += [ratio_cell(results.ratio(case, one, other)) for one, other in ratios]
        lines.append(f"| {' | '.join(cells)} |")
        last = operation
    return "\n".join(lines)


def noise(results):
    """How far half of a peer's turns are from each other, as a share of their median: the median over all cases."""
    spreads = defaultdict(list)
    for (ranks, _, count), peers in results.times.items():
        for peer, turns in peers.items():
            if len(turns) > 2:
                low, middle, high = quartiles(list(turns.values()))
                spreads[peer, ranks, count > 64 << 10].append((high - low) / middle)
    all_ranks = sorted({ranks for _, ranks, _ in spreads})
    head = ["half of the turns lie within", *(f"{ranks} ranks, {what}" for ranks in all_ranks for what in ("to 64 KB", "more"))]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for peer, label in PEERS.items():
        keys = [(peer, ranks, large) for ranks in all_ranks for large in (False, True)]
        if any(key in spreads for key in keys):
            cells = [f"{statistics.median(spreads[key]):.0%}" if key in spreads else "" for key in keys]
            lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def setting(results):
    """Who, where and when, in sentences."""
    sessions = results.sessions
    those = list(sessions.values())

    def all_of(key):
        return ", ".join(dict.fromkeys(str(each[key]) for each in those if key in each))

    lines = []
    counts = defaultdict(int)
    for each in those:
        counts[each.get("ranks")] += 1
    days = sorted({session[:10] for session in sessions})
    rounds = defaultdict(set)
    for (ranks, *_), peers in results.times.items():
        rounds[ranks] |= {key for turns in peers.values() for key in turns}
    lines.append(
        f"{days[0] if len(days) == 1 else f'{days[0]} to {days[-1]}'}, {all_of('processors')} processors of type "
        f"{all_of('processor')}, {all_of('system')}; commit {all_of('commit')}. "
        + "; ".join(f"{ranks} ranks: {len(rounds[ranks])} turns in {counts[ranks]} sessions" for ranks in sorted(rounds))
        + "."
    )
    others = [each["others"] for each in those if "others" in each]
    if others:
        lines.append(
            f"Other programs took {statistics.median(others):.0%} of the processors (between {min(others):.0%} and "
            f"{max(others):.0%}, by session)"
            + (": **the machine was not quiet, so times are long and ratios wide.**" if max(others) > BUSY else ".")
        )
    if len(others) < len(those):
        lines.append(f"{len(those) - len(others)} of {len(those)} sessions were broken off; what they measured counts.")
    versions = {}
    for each in those:
        versions |= each.get("peers", {})
    lines.append("")
    lines += [f"- {label}: {versions[peer]}" for peer, label in PEERS.items() if peer in versions]
    absent = {}
    for each in those:
        for peer, reason in each.get("left_out", {}).items():
            absent.setdefault((peer, reason), set()).add(each.get("ranks"))
    for (peer, reason), ranks in absent.items():
        lines.append(f"- {PEERS[peer]}, left out with {' and '.join(map(str, sorted(ranks)))} ranks: {reason}")
    failures = {(peer, reason) for each in those for peer, reason in each.get("failed", {}).items()}
    lines += [f"- **{PEERS[peer]} failed** {reason}" for peer, reason in sorted(failures)]
    return "\n".join(lines)


def text(results, sizes=None, level=""):
    """Everything in Markdown."""
    if not results.times:
        return "nothing was measured yet"
    parts = [setting(results)]
    for ranks in sorted({case[0] for case in results.times}):
        for title in TABLES:
            one = table(results, ranks, title, sizes)
            if one:
                parts += [f"{level} {title}, {ranks} ranks".strip(), one]
    parts += [f"{level} Noise".strip(), noise(results)]
    return "\n\n".join(parts)


def bus_factor(operation, ranks):
    """As docs/performance.md has it."""
    others = (ranks - 1) / ranks
    return {"all_reduce": 2 * others, "broadcast": 1, "reduce": 1, "sendrecv": 2}.get(operation, others)


def draw(results, root, file, operation, ranks, peers):
    """A picture by jccl plot, of medians. Returns whether there was anything to draw."""
    curves = []
    with tempfile.TemporaryDirectory() as folder:
        for peer in peers:
            path = Path(folder) / f"{peer}.csv"
            rows = []
            for case in results.times:
                middle = results.median(case, peer)
                if case[:2] == (ranks, operation) and middle:
                    bandwidth = case[2] / (middle * 1e3) * bus_factor(operation, ranks)
                    rows.append([peer, operation, "float32", ranks, case[2], f"{middle:.3f}", f"{bandwidth:.6f}", 0])
            if rows:
                with path.open("w", newline="") as out:
                    writer = csv.writer(out, lineterminator="\n")
                    writer.writerow("backend,op,dtype,ranks,bytes,median_us,busbw_GBps,wrong".split(","))
                    writer.writerows(rows)
                curves.append(f"{PEERS[peer]}={path}")
        if curves:
            title = f"{operation} of float32, {ranks} ranks on one host"
            subprocess.run([root / "bin" / "jccl", "plot", *curves, "--title", title, "-o", file], check=True)
    return bool(curves)


def write(results, root):
    """Writes the picture of the README, and the tables to target/peers.md."""
    parts = ["# Against PyTorch and MPI", text(results, SIZES_OF_DOCUMENT, "##")]
    for file, operation, ranks, peers in PICTURES:
        draw(results, root, root / "docs" / "images" / file, operation, ranks, peers)
    page = root / "target" / "peers.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n\n".join(parts) + "\n")
    return page
