# SPDX-License-Identifier: Apache-2.0
"""The layout of a recording, as collectives/native/nccl_plugin/layout.h writes it; numbers in the byte order of x86-64
and aarch64. docs/reference/nccl-recording.md describes it.
"""

from enum import IntEnum

import numpy as np

VERSION = 1
HEADER = np.dtype(
    [
        ("magic", "S8"),
        *((name, "<u4") for name in ("version", "ring_offset", "record_bytes", "level", "every", "pid")),
        *((name, "<u8") for name in ("capacity", "written", "refused")),
        *((name, "<u4") for name in ("nccl", "profiler", "environment", "variables_lost")),
        *((name, "<u8") for name in ("monotonic_ns", "realtime_ns", "last_monotonic_ns", "last_realtime_ns")),
        ("boot_id", "S40"),
        ("host", "S64"),
        ("suffix", "S16"),
        ("program", "S32"),
        ("job_rank", "<i4"),
        ("job_size", "<i4"),
    ]
)
HEADER_BYTES = 4096
COMMUNICATOR = np.dtype(
    [
        ("state", "<u4"),
        ("rank", "<i4"),
        ("size", "<i4"),
        ("nodes", "<i4"),
        ("hash", "<u8"),
        ("name", "S64"),
        ("bus_id", "S16"),
        ("begun_ns", "<u8"),
        ("finalized_ns", "<u8"),
        ("operations", "<u8"),
    ]
)
COMMUNICATORS = 255
TABLES, NAMES, NAME_BYTES = 4, 32, 32
VARIABLE = np.dtype(
    [
        ("state", "<u4"),
        ("reads", "<u4"),
        ("origin", "<u4"),
        ("length", "<u4"),
        ("name", "S64"),
        ("value", "S176"),
    ]
)
VARIABLES = 512
RECORD = np.dtype(
    [
        ("sequence", "<u8"),
        ("start_ns", "<u8"),
        ("end", "<u8"),
        ("parent", "<u8"),
        *(
            (name, "u1")
            for name in ("kind", "flags", "function", "dtype", "algorithm", "protocol", "channels", "communicator")
        ),
        ("a", "<u8"),
        ("b", "<u8"),
        ("c", "<u8"),
    ]
)
COMMUNICATORS_OFFSET = HEADER_BYTES
NAMES_OFFSET = COMMUNICATORS_OFFSET + (COMMUNICATORS + 1) * COMMUNICATOR.itemsize
VARIABLES_OFFSET = NAMES_OFFSET + TABLES * NAMES * NAME_BYTES
RING_OFFSET = VARIABLES_OFFSET + VARIABLES * VARIABLE.itemsize
BUSY = 1 << 63
TURN_SHIFT, DURATION = 48, (1 << 48) - 1


class Kind(IntEnum):
    """What a record is about."""

    CALL = 1
    COLLECTIVE = 2
    MESSAGE = 3
    LAUNCH = 4
    CHANNEL = 5
    OPERATION = 6
    STEP = 7
    NETWORK = 8
    COPY_ENGINE = 9


class Flag(IntEnum):
    """Bits of a record's flags."""

    SENDS = 1
    CAPTURED = 2
    FOREIGN_PARENT = 4


class RecordingLevel(IntEnum):
    """How much is recorded; each has all of those before."""

    CALL = 1
    OP = 2
    CHANNEL = 3
    NET = 4


ORIGINS = ("unset", "environment", "program", "user file", "system file")
"""Where a variable's value came from, by the plugin's number of it."""
