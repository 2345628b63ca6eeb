# SPDX-License-Identifier: Apache-2.0
"""Processes that a test starts by hand, as somebody without a launcher does, and what they run."""

import os
import socket
import subprocess
import sys
import threading

from tests.patience import HANGS_AFTER_S

PROGRAM = """
import sys
from datetime import timedelta
import numpy as np
import railgauge
url, rank, size = sys.argv[1:]
given = {} if rank == "-" else {"rank": int(rank), "world_size": int(size)}
with railgauge.init_process_group(url, timeout=timedelta(seconds=600), **given) as group:
    data = np.full(1000, group.rank + 1, np.float32)
    group.communicator.all_reduce(data)
    group.barrier()
    assert (data == group.size * (group.size + 1) / 2).all(), data
    print(group.rank, group.size)
"""


def start(url, rank, size, program=PROGRAM, **env):
    kept = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program, url, str(rank), str(size)],
        env=kept | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(processes):
    """What each prints, in order; they must end well, and within the time that hangs are given together."""
    ended = threading.Timer(HANGS_AFTER_S, lambda: [process.kill() for process in processes])
    ended.start()
    results = [process.communicate() for process in processes]
    ended.cancel()
    assert [process.returncode for process in processes] == [0] * len(processes), results
    return [out.strip() for out, _ in results]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]
