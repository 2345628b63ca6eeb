# SPDX-License-Identifier: Apache-2.0
"""Faults to inject on purpose, to show that they are found: `flip:rank=1,channel=0,message=3`."""

from dataclasses import dataclass

from railgauge.topo.errors import UsageError

KINDS = ("flip", "stall")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One fault in what `rank` sends on `channel`: at its message number `message` (from 0) since it was armed.

    A run arms its fault when the first verified operation begins.
    """

    kind: str
    """flip: one bit of the message changes; stall: the message is held back for `seconds`."""
    rank: int = 0
    channel: int = 0
    message: int = 0
    seconds: float = 3600.0

    def __str__(self) -> str:
        """As `parse_fault` reads it."""
        where = f"rank={self.rank},channel={self.channel},message={self.message},seconds={self.seconds:g}"
        return f"{self.kind}:{where}"


def parse_fault(text: str) -> Fault:
    """Read KIND[:NAME=VALUE[,NAME=VALUE...]].

    Raises:
        UsageError: an unknown kind or name, or a value that is not a number.
    """
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise UsageError(f"--fault {text}: kind '{kind}' is not one of {', '.join(KINDS)}")
    rank = channel = message = 0
    seconds = 3600.0
    for item in filter(None, rest.split(",")):
        name, _, value = item.partition("=")
        try:
            match name:
                case "rank":
                    rank = int(value)
                case "channel":
                    channel = int(value)
                case "message":
                    message = int(value)
                case "seconds":
                    seconds = float(value)
                case _:
                    raise UsageError(f"--fault {text}: '{name}' is not one of rank, channel, message, seconds")
        except ValueError:
            raise UsageError(f"--fault {text}: '{value}' is not a number") from None
    if min(rank, channel, message, seconds) < 0 or not seconds < 1e6:
        raise UsageError(f"--fault {text}: numbers from 0, seconds below a million")
    return Fault(kind=kind, rank=rank, channel=channel, message=message, seconds=seconds)
