# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.gpu.bits --ranks 2`: a digest of each rank's results of reductions of random floats."""

import argparse
import hashlib

import numpy as np
from tests.gpu.on_gpu import OnGpu, connected
from tests.transports.ranks import on_ranks

from railgauge.transports.bootstrap import Bootstrap

COUNTS = (100, 100_003, 3_000_017)
"""Of floats: lines, full lines, slots."""


def digest(bootstrap: Bootstrap) -> str:
    """Of one rank."""
    comm = connected(bootstrap)
    seen = hashlib.sha256()
    for count in COUNTS:
        array = np.random.default_rng(comm.rank).standard_normal(count, np.float32)
        OnGpu(comm).all_reduce(array)
        seen.update(array.tobytes())
    bootstrap.barrier()
    comm.close()
    return seen.hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    print(*on_ranks(parser.parse_args().ranks, digest))
