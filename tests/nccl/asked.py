# SPDX-License-Identifier: Apache-2.0
"""Run with a library of NCCL: answers what ncclGetUniqueId does under each environment that comes as a line of JSON.

{"environment": {NAME: VALUE}, "joins": whether ncclCommInitRank follows}; characters are bytes. Each question has a
process of its own, forked off after the library was loaded, since NCCL reads its settings once.
"""

import ctypes
import json
import os
import signal
import sys
import tempfile

HANGS_AFTER_S = 60


class UniqueId(ctypes.Structure):
    """The struct ncclUniqueId of nccl.h."""

    _fields_ = (("internal", ctypes.c_char * 128),)


def main(library: str) -> None:
    """Answer until the input ends."""
    nccl = ctypes.CDLL(library)
    for line in sys.stdin:
        question = json.loads(line)
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as left:
            pid = os.fork()
            if not pid:
                _ask(nccl, question, said.fileno(), left.fileno())
            _, status = os.waitpid(pid, 0)
            said.seek(0)
            left.seek(0)
            answer = {"status": os.waitstatus_to_exitcode(status), "pid": pid}
            answer |= {"said": said.read().decode("latin-1"), "environment": json.load(left)}
        print(json.dumps(answer), flush=True)


def _ask(nccl: ctypes.CDLL, question: dict, said: int, left: int) -> None:
    """In the forked process: exits with NCCL's result, its output in `said`, its environment in `left`."""
    signal.alarm(HANGS_AFTER_S)
    os.environ.clear()
    os.environ.update({name: os.fsdecode(value.encode("latin-1")) for name, value in question["environment"].items()})
    os.dup2(said, 1)
    os.dup2(said, 2)
    identity = UniqueId()
    status = nccl.ncclGetUniqueId(ctypes.byref(identity))
    os.write(left, json.dumps(_environment()).encode())
    if question["joins"]:
        status = nccl.ncclCommInitRank(ctypes.byref(ctypes.c_void_p()), 1, identity, 0)
    ctypes.CDLL(None).fflush(None)
    os._exit(status)


def _environment() -> list[str]:
    """NAME=VALUE as the process has it, which os.environ does not show; one character a byte."""
    place = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    found = []
    while place[len(found)]:
        found.append(place[len(found)].decode("latin-1"))
    return found


if __name__ == "__main__":
    main(sys.argv[1])
