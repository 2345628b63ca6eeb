# SPDX-License-Identifier: Apache-2.0
"""What a picture of a machine is made of: parts as a tree below each CPU, and the wires beside the tree."""

from dataclasses import dataclass

from railgauge.topo.nccl.graph.model import LinkKind, NodeKind

PROBLEM = "problem"  # the fact that says what is wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureWire:
    """One wire between two parts by id, both directions in one; `label` is short (NV18), `note` tells the rest."""

    ends: tuple[str, str]
    kind: LinkKind
    gb_per_s: float
    label: str = ""
    note: str = ""
    problem: str | None = None
    share: float | None = None  # of what it carries that is in use, the fuller way; None in a picture without channels
    channels: tuple[int, ...] = ()  # those that use it


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturePart:
    """One box: a short title, facts as (what, text), the wire up to its parent, and the parts below.

    `note` is the full id and what is too long for the box; `faults` say in full what is wrong, which the facts called
    PROBLEM say briefly.
    """

    id: str
    kind: NodeKind
    title: str
    facts: tuple[tuple[str, str], ...]
    note: str
    host: int = 0
    up: PictureWire | None = None
    faults: tuple[str, ...] = ()
    below: tuple["PicturePart", ...] = ()

    def walk(self) -> "list[PicturePart]":
        """This part and all below."""
        return [self, *(part for below in self.below for part in below.walk())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All of it: CPUs with what is below, the NVSwitch if there is one, wires beside the tree, and between CPUs."""

    title: str
    subtitle: str
    cpus: tuple[PicturePart, ...]
    switch: PicturePart | None
    wires: tuple[PictureWire, ...]
    between_cpus: tuple[PictureWire, ...]
    remarks: tuple[str, ...] = ()  # lines below it all

    def parts(self) -> tuple[PicturePart, ...]:
        """Every part once."""
        parts = [part for cpu in self.cpus for part in cpu.walk()]
        return (*parts, *((self.switch,) if self.switch else ()))
