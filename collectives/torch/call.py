# SPDX-License-Identifier: Apache-2.0
"""One call of an operation: what it is, how long it may take, and how it is named in errors and records."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from railgauge.collectives.torch.errors import TorchErrors
from railgauge.collectives.torch.operations import TorchOperation
from railgauge.collectives.torch.record import TorchEntry


class TorchMessage(NamedTuple):
    """What a send or receive moves, as the engine takes it."""

    array: Any
    peer: int | None
    """Its rank in the group; None: any that sends."""
    tag: int
    sends: bool


@dataclass(slots=True)
class TorchCall:
    """A call on tensors of one device."""

    label: str
    errors: TorchErrors
    operation: TorchOperation
    result: list[Any]
    is_async: bool
    options: Any
    """Torch's; None: it has none."""
    entry: TorchEntry | None = None
    """Its place in the flight record, where one is kept."""

    @property
    def timeout_s(self) -> float | None:
        """Of this operation; None: its group's."""
        seconds: float = self.options.timeout.total_seconds() if self.options else 0
        return seconds if seconds > 0 else None

    def begin(self) -> None:
        """Note that it runs."""
        if self.entry:
            self.entry.begin()

    def complete(self) -> None:
        """Note that it has ended well."""
        if self.entry:
            self.entry.complete()
