"""Tests of script/bench/peers, by itself and with the floor on this machine: python3 -m unittest discover script/peers"""

import json
import shutil
import tempfile
import types
import unittest
from pathlib import Path

import measure
import report

SOURCES = Path(__file__).resolve().parent


def record(**values):
    return json.dumps({"session": "2026-11-01T00:00 2", "ranks": 2, **values})


class PlanTest(unittest.TestCase):
    def test_sizes_are_those_of_all_parts(self):
        self.assertEqual(measure.floats_of("all_reduce", 4, 4), 1)
        self.assertEqual(measure.floats_of("all_gather", 4, 4), 4)
        self.assertEqual(measure.floats_of("all_to_all", 1 << 10, 4), 256)
        self.assertEqual(measure.floats_of("barrier", 1 << 10, 4), 0)

    def test_sizes_that_come_to_the_same_are_measured_once(self):
        self.assertEqual(list(measure.cases(["all_gather"], [4, 8, 16, 64], 4)), [("all_gather", 16, 4), ("all_gather", 64, 16)])
        self.assertEqual(list(measure.cases(["barrier"], [4, 1024], 2)), [("barrier", 0, 0)])

    def test_short_calls_are_timed_together_and_long_ones_at_least_three_times(self):
        self.assertEqual(measure.plan("all_reduce", 2, 0.02, 8e-6), (499, 833, 3))
        self.assertEqual(measure.plan("all_reduce", 2, 0.02, 1e-4), (40, 200, 1))
        self.assertEqual(measure.plan("all_reduce", 2, 0.02, 0.5), (0, 3, 1))

    def test_a_chunk_has_calls_of_every_root(self):
        for ranks in (2, 4):
            for call in (3e-7, 7e-6, 1e-3):
                self.assertEqual(measure.plan("broadcast", ranks, 0.02, call)[2] % ranks, 0)


class ReportTest(unittest.TestCase):
    def read(self, *lines):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write("\n".join(lines))
            file.flush()
            return report.read(file.name)

    def test_ratios_are_of_turns_of_the_same_round(self):
        times = {"floor-poll": [10, 20, 40], "jccl-gloo": [20, None, 40], "torch": [100, 100, 100]}
        results = self.read(record(op="all_reduce", bytes=4, us=times))
        self.assertEqual(results.ratio((2, "all_reduce", 4), "jccl-gloo", "floor-poll"), (1.25, 1.5, 1.75))
        self.assertEqual(results.median((2, "all_reduce", 4), "floor-poll"), 20)
        self.assertIsNone(results.ratio((2, "all_reduce", 4), "jccl-gloo", "presets"))
        self.assertIn("| all_reduce | 4 B | 20.0 | 30.0 | 100 | 1.50 (1.25 to 1.75) | 0.30 (0.25 to 0.35) |", report.text(results))

    def test_pieces_add_up(self):
        one = record(op="barrier", bytes=0, us={"torch": [1, 2]})
        results = self.read(one, one.replace("T00:00", "T01:00"))
        self.assertEqual(sorted(results.times[2, "barrier", 0]["torch"].values()), [1, 1, 2, 2])
        self.assertIn("4 turns in 2 sessions", report.text(results))

    def test_who_failed_or_was_left_out_is_said(self):
        results = self.read(
            record(peers={"torch": "PyTorch 2"}, left_out={"presets": "not there"}, failed={"jccl-gloo": "at its start: no"}),
            record(op="barrier", bytes=0, us={"torch": [1, 2]}),
            record(failed={"torch": "in barrier: rank 1 ended"}, others=0.5),
        )
        said = report.text(results)
        self.assertIn("JavaCPP presets' Gloo, left out with 2 ranks: not there", said)
        self.assertIn("**JCCL on Gloo failed** at its start: no", said)
        self.assertIn("**PyTorch's Gloo failed** in barrier: rank 1 ended", said)
        self.assertIn("not quiet", said)

    def test_a_session_that_was_broken_off_is_said(self):
        results = self.read(record(peers={}), record(op="barrier", bytes=0, us={"torch": [1, 2]}))
        self.assertIn("1 of 1 sessions were broken off", report.text(results))


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class FloorTest(unittest.TestCase):
    """Each rank checks its results; one that is wrong fails the peer."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = Path(cls.folder.name) / "tcp_floor"
        measure.run(["cc", "-O3", "-Wall", "-Wextra", "-Werror", SOURCES / "tcp_floor.c", "-o", cls.program])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def session(self, ranks, launchers, sizes):
        options = types.SimpleNamespace(operations=measure.OPERATIONS, sizes=sizes, rounds=2, turn=0.001, warm_up=0.001)
        records = []
        session = measure.Session(launchers, ranks, options, lambda text: None, records.append)
        session.run()
        return session, records

    def floor(self, ranks):
        return [([self.program, ranks, "poll", "{socket}"], {})]

    def test_every_operation_is_right_on_two_and_four_ranks(self):
        for ranks in (2, 4):
            session, records = self.session(ranks, {"floor-poll": self.floor}, [4, 1 << 20])
            self.assertEqual((session.failed, session.left_out), ({}, {}))
            measured = [each for each in records if "op" in each]
            self.assertEqual(len(measured), 2 * len(measure.OPERATIONS) - 1)
            for each in measured:
                self.assertEqual(len(each["us"]["floor-poll"]), 2)
                self.assertTrue(all(0 < micros < 60e6 for micros in each["us"]["floor-poll"]), each)

    def test_who_fails_is_reported_and_does_not_stop_the_others(self):
        def missing(ranks):
            raise measure.Missing("not installed")

        launchers = {
            "torch": lambda ranks: [(["sh", "-c", "echo no such thing >&2; exit 3"], {})],
            "presets": missing,
            "floor-poll": self.floor,
        }
        session, records = self.session(2, launchers, [4])
        self.assertEqual(session.left_out, {"presets": "not installed"})
        self.assertIn("code 3", session.failed["torch"])
        self.assertIn("no such thing", session.failed["torch"])
        self.assertEqual(len([each for each in records if "op" in each]), len(measure.OPERATIONS))


if __name__ == "__main__":
    unittest.main()
