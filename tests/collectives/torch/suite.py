# SPDX-License-Identifier: Apache-2.0
"""The tests of distributed back ends that PyTorch ships (torch.testing._internal.distributed.distributed_test).

    python suite.py BACKEND WORLD_SIZE [TEST...]
    python suite.py --together BACKEND WORLD_SIZE TEST...

prints a JSON line for each test: its name, `pass`, `skip` or `fail`, and why. The tests run as they do for Gloo, which
some ask for by name, except that the default group is made with BACKEND. Ranks are forked, since importing torch takes
longer than most tests. With `--together` all tests run in one group, one after another, on ranks that are forked once.
"""

import json
import os
import sys
import tempfile
import time
import traceback
import unittest

SECONDS = 120
"""How long a test may take, which is killed then."""


def load(backend, ranks, folder, like="gloo"):
    """The class of the tests, on a back end; they run as they do for the one that it is like."""
    os.environ |= {
        "BACKEND": like,
        "WORLD_SIZE": str(ranks),
        "TEMP_DIR": folder,
        "DISTRIBUTED_TESTS_DEFAULT_TIMEOUT": str(SECONDS),
        "OMP_NUM_THREADS": "1",
    }
    os.makedirs(os.path.join(folder, "barrier"), exist_ok=True)
    import torch

    torch.set_num_threads(1)
    if backend == "railgauge":
        import railgauge.torch  # noqa: F401
    from torch.testing._internal.distributed import distributed_test

    join = torch.distributed.init_process_group
    torch.distributed.init_process_group = lambda **how: join(**how | {"backend": backend})

    class OnBackend(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return OnBackend


class Lines(unittest.TestResult):
    """Prints the outcome of each test as it ends."""

    def startTest(self, test):
        super().startTest(test)
        self._began = time.monotonic()

    def addSuccess(self, test):
        self._say(test, "pass", "")

    def addSkip(self, test, reason):
        self._say(test, "skip", reason)

    def addFailure(self, test, error):
        self._say(test, "fail", str(error[1]))

    addError = addFailure

    def _say(self, test, outcome, why):
        took = round(time.monotonic() - self._began, 1)
        print(json.dumps({"test": test._testMethodName, "outcome": outcome, "s": took, "why": why[-3000:]}), flush=True)


def together(cases, rank, folder, names):
    """Run tests on one rank, which prints what failed on it; rank 0 also what passed."""
    for name in names:
        case, outcome, why = cases(name), "pass", ""
        case.rank, case.file_name = rank, os.path.join(folder, "group")
        try:
            if name == names[0]:
                torch = sys.modules["torch"]
                torch.distributed.init_process_group(
                    init_method=case.init_method, world_size=int(case.world_size), rank=rank
                )
            getattr(case, name)()
        except (SystemExit, unittest.SkipTest) as skipped:
            outcome, why = "skip", str(skipped)
        except Exception:
            outcome, why = "fail", traceback.format_exc()
        if rank == 0 or outcome == "fail":
            print(json.dumps({"test": name, "outcome": outcome, "why": why}), flush=True)
        if outcome == "fail":
            break  # the ranks may be out of step


def main_together(backend, ranks, *names):
    with tempfile.TemporaryDirectory() as folder:
        cases = load(backend, ranks, folder)
        cases.setUpClass()
        tests = sys.modules["torch.testing._internal.distributed.distributed_test"]
        tests.initialize_temp_directories()
        tests.Barrier.init()
        pids = []
        for rank in range(int(ranks)):
            if (pid := os.fork()) == 0:
                together(cases, rank, folder, names)
                os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)


def main(backend, ranks, *names):
    with tempfile.TemporaryDirectory() as folder:
        cases = load(backend, ranks, folder)
        names = names or unittest.TestLoader().getTestCaseNames(cases)
        unittest.TestSuite(map(cases, names)).run(Lines())


if __name__ == "__main__":
    if sys.argv[1] == "--together":
        main_together(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
