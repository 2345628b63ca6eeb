# SPDX-License-Identifier: Apache-2.0
"""Captures of nodes without railgauge: ssh takes the collector there on stdin, and nothing is written on the node."""

from railgauge.cli.cluster.gather import MARK, NodeCommand
from railgauge.topo.files.compression import pack, unpack
from railgauge.topo.findings.cluster.folder import CAPTURES

FIND = """mark=$1; load=$2; shift 2
for python in python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11 python3.10 ""
do
  [ -n "$python" ] || exit 127
  "$python" -c "import sys; sys.exit(sys.version_info < (3, 10))" </dev/null >/dev/null 2>&1 && break
done
echo "$mark"; "$python" -I -S -c "$load" "$@"; status=$?; echo "$mark"; exit "$status\""""
"""Runs the collector with the first Python that is new enough."""
LOAD = """import os, sys
file = os.memfd_create("railgauge-collector", 0)
with open(file, "wb", closefd=False) as archive:
    archive.write(sys.stdin.buffer.read())
os.execv(sys.executable, [sys.executable, "-I", "-S", "/proc/%d/fd/%d" % (os.getpid(), file), *sys.argv[1:]])"""
"""Puts stdin into a file in memory, which ends with the process, and runs it; the number keeps it open for children."""
MISSING = (
    "no Python 3.10 or newer is there (python3, /usr/bin/python3, python3.10 to python3.14), or no sh or no timeout"
)
SENT = "the collector's answer"


def by_collector() -> NodeCommand:
    """The collector makes the capture. UnavailableError where it cannot be made here."""
    from railgauge.cli.collector.archive import archive

    command = ["sh", "-c", FIND, "sh", MARK.decode().strip(), LOAD, "capture", "-o", "/dev/stdout"]
    return NodeCommand(
        program="the collector",
        ending=CAPTURES[0],
        command=command,
        missing=MISSING,
        stdin=archive(),
        received=_as_zstd,
    )


def _as_zstd(sent: bytes) -> bytes:
    """A capture that came as .tar.gz, which is all that a Python by itself writes, as every other node's is kept."""
    return pack(unpack(sent, SENT), CAPTURES[0])
