# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tests of distributed back ends on GPUs, as they run for NCCL (suite.py is for CPUs):

    python -m tests.collectives.torch.suite_on_gpus BACKEND WORLD_SIZE SECONDS [RESULTS]

prints a JSON line for each test, as suite.py; RESULTS is such lines of another back end, and what passes there is not
run. A group of ranks runs one test after another, since making contexts of CUDA takes longer than most tests. After a
failure, or SILENT_S without a result, the next group goes on with the rest; it was started beforehand and waits. A test
in which a rank ended is run once more: what an earlier one left may end a rank later. After SECONDS no further test is
begun, and it fails.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
from pathlib import Path

from tests.collectives.torch.suite import load
from tests.collectives.torch.suite_verdict import outcomes

START_S, SILENT_S = 100, 30
"""Without a result for so long a test hangs; the first has torch and its tests to import."""
GROUP_S = 15
"""The timeout of a test's operations."""
END = {"test": "", "outcome": "end", "why": ""}
ENDED = "a rank ended with "


class Ranks:
    """A group of processes, one for each rank. Told to start, they run the tests that have no result yet."""

    def __init__(self, command, size):
        """`command` is a rank's, to which its number, the number of ranks and a folder are added."""
        self._folder = tempfile.TemporaryDirectory()
        for name in ("barrier", "test_dir"):
            Path(self._folder.name, name).mkdir()
        self._readers = []
        self._ranks = [
            subprocess.Popen(
                [*command, str(rank), str(size), self._folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sys.stderr,
                text=True,
            )
            for rank in range(size)
        ]

    def run(self, done, until):
        """The results of tests that are not in `done`, by all ranks, up to the first that fails."""
        lines = queue.Queue()
        for rank in self._ranks:
            with contextlib.suppress(BrokenPipeError):
                rank.stdin.write(json.dumps(sorted(done)) + "\n")
                rank.stdin.flush()
            self._readers.append(threading.Thread(target=self._read, args=(rank, lines), daemon=True))
            self._readers[-1].start()
        told = {}
        while True:
            try:
                limit = SILENT_S if told else START_S
                line = lines.get(timeout=max(0.1, min(limit, until - time.monotonic())))
            except queue.Empty:
                under_way = [name for name, found in told.items() if found]
                yield under_way[0] if under_way else "", "hang", f"no result of all ranks for {limit:g} s"
                return
            found = told.setdefault(line["test"], [])
            found.append(line)
            if line["outcome"] == "fail":
                yield line["test"], "fail", line["why"]
                return
            if line["outcome"] != "begin" and sum(one["outcome"] != "begin" for one in found) == len(self._ranks):
                found.clear()
                yield line["test"], line["outcome"], line["why"]
                if line["outcome"] == "end":
                    return

    def end(self):
        for rank in self._ranks:
            rank.kill()
        for reader in self._readers:
            reader.join()
        for rank in self._ranks:
            rank.wait()
            for pipe in (rank.stdin, rank.stdout):
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._folder.cleanup()

    @staticmethod
    def _read(rank, lines):
        name = ""
        for text in rank.stdout:
            if text.startswith('{"test"'):
                line = json.loads(text)
                name = line["test"]
                lines.put(line)
        if name or rank.wait():
            lines.put({"test": name, "outcome": "fail", "why": f"{ENDED}{rank.wait()}"})


def rank_main(backend, rank, size, folder):
    """Run all tests but those that are done, on one rank."""
    cases = load(backend, int(size), folder, like="nccl")
    import torch

    tests = sys.modules["torch.testing._internal.distributed.distributed_test"]
    names = unittest.TestLoader().getTestCaseNames(cases)
    done = set(json.loads(sys.stdin.readline()))
    cases.setUpClass()
    torch.cuda.set_device(int(rank))
    for number, name in enumerate(one for one in names if one not in done):
        say(name, "begin")
        case, outcome, why = cases(name), "pass", ""
        case.rank, case.file_name = int(rank), os.path.join(folder, f"group-{number}")
        try:
            if not torch.distributed.is_initialized():
                torch.distributed.init_process_group(
                    init_method=f"file://{case.file_name}",
                    world_size=int(size),
                    rank=int(rank),
                    timeout=tests.timedelta(seconds=GROUP_S),
                )
            torch.manual_seed(0)  # where forks of one process have what it had
            test = getattr(case, name)
            if getattr(test, "__unittest_skip__", False):  # what unittest itself would ask
                raise unittest.SkipTest(test.__unittest_skip_why__)
            test()
            torch.cuda.synchronize()
        except (SystemExit, unittest.SkipTest) as skipped:
            outcome, why = "skip", str(skipped)
        except Exception:
            outcome, why = "fail", traceback.format_exc()
        say(name, outcome, why)
    say(**END)
    os._exit(0)


def say(test, outcome, why=""):
    print(json.dumps({"test": test, "outcome": outcome, "why": why[-3000:]}), flush=True)


def main(backend, size, seconds, other=None):
    command = [sys.executable, "-m", "tests.collectives.torch.suite_on_gpus", "--rank", backend]
    passed = [name for name, outcome in outcomes(Path(other)).items() if outcome == "pass"] if other else []
    for name, outcome, why in results(command, int(size), float(seconds), passed):
        if outcome == "end":
            return
        say(name, outcome, why)
    sys.exit(f"suite_on_gpus: {backend}: not all tests were run within {seconds} s")


def results(command, size, seconds, passed=()):
    """Each test's name, outcome and reason, by one group of ranks after another, but for tests that passed elsewhere.
    The last is `end`, if the time was enough for all.
    """
    until = time.monotonic() + seconds
    done, again, outcome = set(passed), set(), ""
    current, following = Ranks(command, size), Ranks(command, size)
    try:
        while outcome != "end" and time.monotonic() < until:
            for name, outcome, why in current.run(done, until):
                if why.startswith(ENDED) and name not in again:
                    again.add(name)
                    continue
                done.add(name)
                if name or outcome == "end":
                    in_time = outcome == "end" or time.monotonic() < until
                    yield name, outcome if in_time else "not run", why
            current.end()
            current, following = following, Ranks(command, size)
    finally:
        current.end()
        following.end()


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        rank_main(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
