# SPDX-License-Identifier: Apache-2.0
"""Random collectives on several ranks, each verified against NumPy, and no growth of memory: `make soak`.

python -m tests.soak [--seed S] [--count N] [--ranks R] [--minutes M] [--worlds shm,hosts] [--only STEP]
"""

import argparse
import random
import sys
import time

from tests.soak.rank import Report
from tests.soak.world import WORLDS, soak

COLLECTIVES = 10_000
RANKS = 5
MINUTES = 12.0
DEFAULT = "shm,hosts"


def main() -> int:
    """Run it; 0 when all results were correct, else 4."""
    options = arguments()
    until = time.monotonic() + options.minutes * 60
    print(f"seed {options.seed}, {options.ranks} ranks", flush=True)
    for name in options.worlds:
        began = time.monotonic()
        found = soak(
            WORLDS[name],
            options.ranks,
            seed=options.seed,
            collectives=options.count,
            only=options.only,
            limit_s=until - began,
        )
        if wrong := [f"rank {rank}: {one.wrong}" for rank, one in enumerate(found) if one.wrong]:
            print(f"{name}: FAILED, {time.monotonic() - began:.0f} s", *wrong, sep="\n  ")
            print(f'to repeat: make soak ARGS="{again(name, options, found)}"')
            return 4
        print(f"{name}: {words(found)}, {time.monotonic() - began:.0f} s", flush=True)
    return 0


def again(name: str, options: argparse.Namespace, found: list[Report]) -> str:
    """The arguments that repeat it: only the failed step, or everything if none failed."""
    failed = [one.at for one in found if one.at is not None]
    rest = f"--only {min(failed)}" if failed else f"--count {options.count}"
    return f"--seed {options.seed} --ranks {options.ranks} --worlds {name} {rest}"


def words(found: list[Report]) -> str:
    """What was done, and the most that a rank has grown by."""
    grown = [one.after.resident_bytes - one.before.resident_bytes for one in found if one.after and one.before]
    memory = f", {max(grown) / 2**20:+.1f} MiB" if grown else ""
    return f"{found[0].collectives} collectives correct in {found[0].steps} steps{memory}"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="soak", description="random collectives, verified against NumPy")
    add = parser.add_argument
    add("--seed", type=int, default=random.randrange(10**6), help="seed of all random choices (a random one)")
    add("--count", type=int, default=COLLECTIVES, help="number of collectives in each world (%(default)s)")
    add("--ranks", type=int, default=RANKS, help="processes (%(default)s)")
    add("--minutes", type=float, default=MINUTES, help="time limit for all, in minutes (%(default)g)")
    add("--worlds", default=DEFAULT, help=f"of {', '.join(WORLDS)} (%(default)s)")
    add("--only", type=int, help="run only this step, as with the same seed and ranks")
    options = parser.parse_args()
    options.worlds = options.worlds.split(",")
    if unknown := {*options.worlds} - {*WORLDS}:
        parser.error(f"--worlds: unknown: {', '.join(sorted(unknown))}; worlds are {', '.join(WORLDS)}")
    if options.ranks < 1 or options.count < 1 or options.minutes <= 0:
        parser.error("--ranks and --count must be at least 1, --minutes more than 0")
    return options


if __name__ == "__main__":
    sys.exit(main())
