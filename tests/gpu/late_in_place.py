# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.gpu.late_in_place --ranks 2`: all_reduces in place over a network, at which a rank comes late.

Each GPU is a host of its own. When the late rank begins, all that its peers send it is there: it could write the sum
while it still gives its input to them. Prints how many operations were wrong on each rank.
"""

import argparse
import sys
import time

import numpy as np
from tests.gpu.on_gpu import OnGpu, connected
from tests.transports.ranks import on_ranks

from railgauge.transports.bootstrap import Bootstrap

COUNTS = (2, 64, 1024, 4096, 16_384)
"""Of floats, up to the 64 KiB that go in one step."""
LATE_S = 0.001


def wrong(bootstrap: Bootstrap, times: int) -> int:
    """Of one rank."""
    ranks = bootstrap.world_size
    comm = connected(bootstrap, ranks)
    found = 0
    for number in range(times):
        array = np.full(COUNTS[number % len(COUNTS)], float(1 << comm.rank) + number % 7, np.float32)
        if comm.rank == number % ranks:
            time.sleep(LATE_S)
        OnGpu(comm).all_reduce(array, array)
        found += bool((array != (1 << ranks) - 1 + ranks * (number % 7)).any())
    bootstrap.barrier()
    comm.close()
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--times", type=int, default=2000)
    asked = parser.parse_args()
    told = on_ranks(asked.ranks, lambda bootstrap: wrong(bootstrap, asked.times), 100)
    print(*told)
    sys.exit(any(told))
