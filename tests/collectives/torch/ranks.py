# SPDX-License-Identifier: Apache-2.0
"""Runs functions on ranks of a torch job, each a fork of one process that has imported torch:

    python -m tests.collectives.torch.ranks MODULE RANKS...

The functions are those of `tests.collectives.torch.MODULE` whose names begin with `check_`; each takes a `Place`. With
`IN_ONE_GROUP` in the module they run in one group of all ranks, else each makes its own. Prints what failed.
"""

import contextlib
import importlib
import os
import signal
import sys
import tempfile
import traceback
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from tests.patience import HANGS_AFTER_S

import railgauge.torch  # noqa: F401

BACKEND = "railgauge"


@dataclass
class Place:
    """A rank, and a folder that all ranks share."""

    rank: int
    ranks: int
    folder: Path

    @contextlib.contextmanager
    def group(self, name, backend=BACKEND, timeout_s=HANGS_AFTER_S, leave=True):
        """The default group, through a file of that name."""
        dist.init_process_group(
            backend,
            init_method=f"file://{self.folder / name}",
            rank=self.rank,
            world_size=self.ranks,
            timeout=timedelta(seconds=timeout_s),
        )
        yield
        if leave:
            dist.destroy_process_group()


def checks_of(name):
    module = importlib.import_module(f"tests.collectives.torch.{name}")
    found = [value for key, value in vars(module).items() if key.startswith("check_")]
    return found, getattr(module, "IN_ONE_GROUP", False)


def run_rank(place, checks, in_one_group):
    """Runs all checks on one rank; what failed, as text."""
    failed = []
    with place.group("all") if in_one_group else contextlib.nullcontext():
        for check in checks:
            try:
                check(place)
            except BaseException:
                failed.append(f"rank {place.rank} of {place.ranks}: {check.__name__}: {traceback.format_exc()}")
                break  # the ranks may be out of step
    return failed


def main(name, *sizes):
    torch.set_num_threads(1)
    checks, in_one_group = checks_of(name)
    wrong = False
    for size in map(int, sizes):
        with tempfile.TemporaryDirectory() as folder:
            pids = [fork(Place(rank, size, Path(folder)), checks, in_one_group) for rank in range(size)]
            while pids:
                ended, status = os.wait()
                pids.remove(ended)
                if status:
                    wrong = True
                    for pid in pids:  # they may wait for what never comes
                        os.kill(pid, signal.SIGKILL)
    sys.exit(wrong)


def fork(place, checks, in_one_group):
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        failed = run_rank(place, checks, in_one_group)
        print("\n".join(failed), end="", flush=True)
        status = bool(failed)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    main(*sys.argv[1:])
