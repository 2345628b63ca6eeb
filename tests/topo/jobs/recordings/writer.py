# SPDX-License-Identifier: Apache-2.0
"""Writes recordings with the times that a test wants: a job whose ranks come when the test says."""

from collections import Counter

import numpy as np

from railgauge.topo.jobs.recordings import layout
from railgauge.topo.jobs.recordings.layout import Flag, Kind, RecordingLevel
from railgauge.topo.jobs.recordings.magic import MAGIC

MS = 1_000_000
HASH = 0xC0FFEE
UNIX_NS = 1_800_000_000_000_000_000
DTYPE = "ncclFloat32"
NAMES = (
    ("AllReduce", "AllGather", "Send", "Recv", "Broadcast"),
    (DTYPE, "ncclBfloat16"),
    ("RING", "TREE"),
    ("SIMPLE", "LL"),
)


class RankFile:
    """The recording of one rank: `add` appends records, `write` makes the file."""

    def __init__(self, rank, size, *, level=RecordingLevel.CHANNEL, host="node1", boot_id="b1", pid=None, **header):
        self.rank, self.size = rank, size
        self.header = {
            "level": level, "host": host, "boot_id": boot_id, "pid": pid or 100 + rank, "every": 1, "nccl": 22809,
            "profiler": 5, "job_rank": rank, "job_size": size, "monotonic_ns": 0, "realtime_ns": UNIX_NS, **header,
        }  # fmt: skip
        self.communicators = [(HASH, "tp", rank, size, 1)]
        self.bus_id = ""
        self.variables = []
        self.rows = []
        self.numbers = Counter()
        self.capacity = 0

    def add(self, kind, start_ns, took_ns=None, *, parent=0, slot=0, flags=0, names=(255, 255, 255, 255), channels=0,
            a=0, b=0, c=0):  # fmt: skip
        """Append a record; its number. took_ns None: not ended."""
        number = len(self.rows) + 1
        end = 0 if took_ns is None else int(took_ns) + 1
        self.rows.append((number, int(start_ns), end, parent, kind, flags, *names, channels, slot, a, b, c))
        return number

    def collective(self, called_ns, began_ns, ended_ns, *, function="AllReduce", count=1 << 20, channels=2, root=0,
                   algorithm="RING", protocol="SIMPLE", slow=None, gpu_shift_ns=0, captured=False, slot=0,
                   extra_ns=None, kernels=True):  # fmt: skip
        """A call, what it enqueues, and its channels in the kernel; ended_ns None: they have not ended.

        slow and extra_ns: by channel, a factor of its time, and ns more. gpu_shift_ns: what the GPU's clock is ahead of
        the host's.
        """
        code = NAMES[0].index(function)
        names = (code, 0, NAMES[2].index(algorithm), NAMES[3].index(protocol))
        flags = Flag.CAPTURED if captured else 0
        call = self.add(Kind.CALL, called_ns, 5000, names=(code, 0, 255, 255), flags=flags, a=count, b=root, slot=slot)
        if not captured:
            self.numbers[slot] += 1
        number = 0 if captured else self.numbers[slot]
        op = self.add(Kind.COLLECTIVE, called_ns + 1000, 2000, parent=call, names=names, channels=channels, a=count,
                      flags=flags, b=max(self.numbers[slot] - 1, 0), slot=slot,
                      c=number | (root & 0xFFFFFF) << 40)  # fmt: skip
        for channel in range(channels if kernels else 0):
            took = None
            if ended_ns is not None:
                took = (ended_ns - began_ns) * (slow or {}).get(channel, 1) + (extra_ns or {}).get(channel, 0)
            self.add(Kind.CHANNEL, began_ns, took, parent=op, slot=slot, a=channel, b=began_ns + gpu_shift_ns,
                     c=0 if took is None else int(began_ns + took + gpu_shift_ns))  # fmt: skip
        return op

    def message(self, called_ns, peer, *, sends, count=1024, took_ns=MS, kernels=True):
        """A send or a receive; took_ns None: its kernel has not ended."""
        names = (2 if sends else 3, 0, 255, 255)
        message = self.add(Kind.MESSAGE, called_ns, 1000, names=names, a=count, b=peer)
        if kernels:
            self.add(Kind.CHANNEL, called_ns + 2000, took_ns, parent=message, a=0)
        return message

    def send_steps(self, op, start_ns, channel, peer, steps, took_ns, size=1 << 19):
        """A proxy operation that sends, with the time that the network has each of its steps."""
        operation = self.add(Kind.OPERATION, start_ns, steps * took_ns, parent=op, flags=Flag.SENDS,
                             a=peer | channel << 32, b=steps | size << 32, c=steps * size)  # fmt: skip
        for step in range(steps):
            self.add(Kind.STEP, start_ns + step * took_ns, took_ns + 1000, parent=operation, a=step, b=size, c=1001)

    def data(self):
        """The file's bytes."""
        header = np.zeros(1, layout.HEADER)
        capacity = self.capacity or max(len(self.rows), 1)
        for name, value in self.header.items():
            header[name] = value
        header["magic"], header["version"] = MAGIC, layout.VERSION
        header["ring_offset"], header["record_bytes"] = layout.RING_OFFSET, layout.RECORD.itemsize
        header["capacity"], header["written"] = capacity, len(self.rows)
        communicators = np.zeros(layout.COMMUNICATORS + 1, layout.COMMUNICATOR)
        for slot, (number, name, rank, size, state) in enumerate(self.communicators):
            communicators[slot] = (state, rank, size, 1, number, name, self.bus_id, 0, 0, self.numbers[slot])
        names = np.zeros((layout.TABLES, layout.NAMES), f"S{layout.NAME_BYTES}")
        for table, some in enumerate(NAMES):
            names[table, : len(some)] = some
        variables = np.zeros(layout.VARIABLES, layout.VARIABLE)
        for place, (name, value, origin) in enumerate(self.variables):
            variables[place] = (2, 1, origin, len(value), name, value)
        ring = np.zeros(capacity, layout.RECORD)
        for row in self.rows:
            index = row[0] - 1
            turn = (index // capacity & 0xFFFF) << layout.TURN_SHIFT
            ring[index % capacity] = (*row[:2], row[2] | turn, *row[3:])
        parts = [header.tobytes().ljust(layout.HEADER_BYTES, b"\0"), communicators.tobytes(), names.tobytes()]
        return b"".join([*parts, variables.tobytes(), ring.tobytes()])

    def write(self, folder):
        """Write it into a folder; its path."""
        path = folder / f"{self.header['host']}.{self.header['pid']}.nccl"
        path.write_bytes(self.data())
        return path


def job(size=2, operations=20, *, late=None, late_ns=20 * MS, period_ns=50 * MS, took_ns=MS, every_host=None,
        drift=0, **options):  # fmt: skip
    """The ranks of a job that calls all_reduce in a loop; `late`: a rank that comes that much later to each.

    drift: by how many ns a second the GPU clock of each rank runs ahead of the one before.
    """
    header = {name: options.pop(name) for name in ("level", "every", "host") if name in options}
    files = []
    for rank in range(size):
        host = every_host(rank) if every_host else {}
        file = RankFile(rank, size, **header, **host)
        for number in range(operations):
            base = (number + 1) * period_ns
            # Jitter of a few us, another for each rank: nothing that a test should find.
            jitter = (number * 7919 + rank * 104729) % 5000
            came = base + jitter + (late_ns if rank == late else 0)
            end = base + (late_ns if late is not None else 0) + 5000 + took_ns
            shift = rank * 123456789 + int(drift * rank * base / 1e9)
            file.collective(came, came + 10_000, end + 10_000 + jitter % 300, gpu_shift_ns=shift, **options)
        files.append(file)
    return files


def write(files, folder):
    """The paths of all files."""
    return [str(file.write(folder)) for file in files]
