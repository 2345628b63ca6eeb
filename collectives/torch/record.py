# SPDX-License-Identifier: Apache-2.0
"""RAILGAUGE_RECORD=DIR: the last operations of this rank in each group, in the format of PyTorch's flight recorder,
which `railgauge log hang` and PyTorch's torchfrtrace read.

The file `DIR/railgauge_rank_R` is written when an operation fails, when a group is aborted, and when the process leaves
the job. Source of the fields: torch/csrc/distributed/c10d/FlightRecorder.hpp, version 2.10.
"""

import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railgauge.topo.files.output_file import write_file

SETTING = "RAILGAUGE_RECORD"
VERSION = "2.10"
KEPT = 2000
"""Operations that are kept of a process, as many as PyTorch keeps by default (TORCH_FR_BUFFER_SIZE)."""
WRITTEN_AS = "gloo"
"""Back end in the names of operations: torchfrtrace refuses names that it does not know, and railgauge is one."""


@dataclass(slots=True)
class TorchEntry:
    """An operation of this rank."""

    fields: dict[str, Any]
    state: str = "scheduled"
    started_ns: int | None = None
    completed_ns: int | None = None

    def begin(self) -> None:
        """It runs from now on."""
        self.state, self.started_ns = "started", time.time_ns()

    def complete(self) -> None:
        """It has ended well."""
        self.state, self.completed_ns = "completed", time.time_ns()

    def to_json(self) -> dict[str, Any]:
        """As PyTorch writes it."""
        return self.fields | {
            "state": self.state,
            "time_discovered_started_ns": self.started_ns,
            "time_discovered_completed_ns": self.completed_ns,
            "retired": self.state == "completed",
        }


@dataclass
class RecordedGroup:
    """A group's counts in the record."""

    number: int
    ranks: Sequence[int]
    collectives: int = 0
    transfers: int = 0
    name: str = ""
    about: str = ""


@dataclass(eq=False)
class TorchRecord:
    """The record of a process: of all its groups together, as PyTorch's."""

    folder: Path
    rank: int = -1
    groups: list[RecordedGroup] = field(default_factory=list)
    _entries: deque[TorchEntry] = field(default_factory=lambda: deque(maxlen=KEPT))
    _count: int = 0
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def group(self, ranks: Sequence[int]) -> RecordedGroup:
        """A new group of these ranks of the job."""
        self.groups.append(RecordedGroup(len(self.groups), list(ranks)))
        return self.groups[-1]

    def enter(
        self, group: RecordedGroup, label: str, inputs: Sequence[Any], outputs: Sequence[Any], *, timeout_s: float
    ) -> TorchEntry:
        """Note a call. A send is labelled `send 0->1`, a receive `recv 1<-0`, by ranks of the group."""
        is_transfer = label.startswith(("send ", "recv "))
        with self._changing:
            group.transfers += is_transfer
            group.collectives += not is_transfer
            fields = {
                "record_id": self._count,
                "pg_id": group.number,
                "process_group": (group.name, group.about),
                "collective_seq_id": group.collectives,
                "p2p_seq_id": group.transfers,
                "op_id": group.collectives + group.transfers,
                "profiling_name": f"{WRITTEN_AS}:{label}",
                "time_created_ns": time.time_ns(),
                "input_sizes": [list(one.shape) for one in inputs],
                "input_dtypes": [_dtype(one) for one in inputs],
                "output_sizes": [list(one.shape) for one in outputs],
                "output_dtypes": [_dtype(one) for one in outputs],
                "timeout_ms": int(timeout_s * 1000),
                "is_p2p": is_transfer,
                "frames": [],
            }
            self._count += 1
            entry = TorchEntry(fields)
            self._entries.append(entry)
        return entry

    def write(self) -> Path:
        """Write the file, in place of the one before; UnavailableError if it cannot be written."""
        with self._changing:
            entries = [entry.to_json() for entry in self._entries]
        document = {
            "version": VERSION,
            "rank": self.rank,
            "pg_config": {
                one.name: {"name": one.name, "desc": one.about, "ranks": str(list(one.ranks))} for one in self.groups
            },
            "pg_status": {},
            "entries": entries,
        }
        path = self.folder / f"railgauge_rank_{self.rank}"
        write_file(str(path), pickle.dumps(document, protocol=4))
        return path


def record_asked(environ: Mapping[str, str] = os.environ) -> TorchRecord | None:
    """The record of this process, if the setting asks for one; OSError if its folder cannot be made."""
    folder = environ.get(SETTING)
    if not folder:
        return None
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    return TorchRecord(path)


def _dtype(tensor: Any) -> str:
    """The type as PyTorch's flight recorder names it."""
    return NAMES.get(name := str(tensor.dtype).removeprefix("torch."), name)


NAMES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int8": "Char",
    "uint8": "Byte",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}
