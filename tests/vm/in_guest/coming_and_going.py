# SPDX-License-Identifier: Apache-2.0
"""A scenario: scans while PCI devices come and go. Prints a JSON list of {"dump", "warnings"}, one for each scan; the
last one is made when all are back.

$COMING names the devices by bus id. Facts that are asked of libraries are asked once; sysfs is read anew each time.
"""

import contextlib
import itertools
import json
import os
import threading
import time
from functools import partial

from railgauge.topo.facts.live_reader import live_reader
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.xml import topology_file

SCANS = 10
PAUSES_S = (0.0, 0.01, 0.03, 0.002, 0.06)


def come_and_go(bus_ids: list[str], stop: threading.Event) -> None:
    """Remove one device after the other, and let the kernel find it again."""
    for bus_id, pause_s in zip(itertools.cycle(bus_ids), itertools.cycle(PAUSES_S), strict=False):
        if stop.is_set():
            return
        with contextlib.suppress(OSError):
            write(f"/sys/bus/pci/devices/{bus_id}/remove")
        time.sleep(pause_s)
        write("/sys/bus/pci/rescan")
        time.sleep(pause_s)


def write(path: str) -> None:
    with open(path, "w") as file:
        file.write("1")


def one_scan(before: LiveReader) -> dict:
    """A reader keeps what it has read: another one reads sysfs anew, with the same answers of libraries."""
    answered = {name: partial(dict, answer) for name, answer in before.answers.items() if answer is not None}
    result = scan(LiveReader(facts=before.ask | answered), os.environ)
    return {"dump": topology_file.dumps(result.topology), "warnings": list(result.warnings)}


def main() -> int:
    reader = live_reader()
    scan(reader, os.environ)
    stop = threading.Event()
    going = threading.Thread(target=come_and_go, args=(os.environ["COMING"].split(), stop))
    going.start()
    try:
        scans = [one_scan(reader) for _ in range(SCANS)]
    finally:
        stop.set()
        going.join()
    print(json.dumps([*scans, one_scan(reader)]))
    return 0
