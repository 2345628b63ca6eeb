# SPDX-License-Identifier: Apache-2.0
"""A process that meets others over a store in a file, and prints what came of it."""

import sys

PROCESS = """
import sys
from railgauge.transports.rendezvous import Share, meet
from railgauge.transports.store.file_store import FileStore
process, processes, timeout_s, path = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
environ = dict(item.split("=") for item in sys.argv[5:])
try:
    share = Share(process=process, processes=processes, ranks_per_process=1)
    rendezvous = meet(FileStore(path), share, timeout_s=timeout_s, secret=b"s", version="1", environ=environ)
    bootstrap = rendezvous.join(process)
    print(bootstrap.all_gather(process, int), rendezvous.place, flush=True)
    bootstrap.close()
    rendezvous.close()
except Exception as error:
    print(f"{type(error).__name__}: {error}", flush=True)
"""


def process_command(process, processes, timeout_s, path, *settings):
    return [sys.executable, "-P", "-c", PROCESS, *map(str, (process, processes, timeout_s, path)), *settings]
