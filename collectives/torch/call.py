# SPDX-License-Identifier: Apache-2.0
"""One call of an operation: what it is, how long it may take, and how it is named in errors and records."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from railgauge.collectives.torch.operations import TorchOperation
from railgauge.collectives.torch.record import Entry


@dataclass(slots=True)
class TorchCall:
    """A call on tensors of one device."""

    label: str
    where: str
    """The rank, the group and the operation, for errors."""
    operation: TorchOperation
    result: list[Any]
    is_async: bool
    timeout_s: float | None
    """Of this operation; None: its group's."""
    entry: Entry | None
    """Its place in the flight record, where one is kept."""

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Note when it starts and whether it ends well."""
        if self.entry is None:
            yield
            return
        self.entry.begin()
        yield
        self.entry.complete()

    def follow(self, pending: Any) -> None:
        """Take the state of a transfer from the engine."""
        if self.entry is not None:
            self.entry.begin()
            self.entry.pending = pending
