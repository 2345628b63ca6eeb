# SPDX-License-Identifier: Apache-2.0
"""A card: the words of one finding, for every detector. The cards themselves are data, in the folder cards/.

Detectors hold code and import the card that they report under, so that one id has one title and one remedy in every
command; `explain`, `log explain` and the tables of the documentation are made from cards alone.
"""

import pkgutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from railgauge.topo.findings import cards as folder
from railgauge.topo.findings.finding import Finding, Level

PASS, INFO, WARN, FAIL, UNKNOWN = Level.PASS, Level.INFO, Level.WARN, Level.FAIL, Level.UNKNOWN


class Area(StrEnum):
    """What a file of cards is about, by the file's name; in the order in which findings are listed."""

    TOPOLOGY_FILE = "topology file"
    PCIE = "PCIe"
    NVLINK = "NVLink"
    GPUS = "GPUs and the cores next to them"
    HEALTH = "health of GPUs, NVSwitches and optics"
    RDMA = "RDMA devices"
    RDMA_PORTS = "RDMA ports"
    GDR = "GPUDirect RDMA"
    NETWORK = "network between nodes"
    FABRIC = "fabric between nodes"
    PROCESS = "memory and limits of a process"
    SETTINGS = "NCCL's settings"
    COMPARISON = "other nodes, and earlier states"
    LINKS = "measured links"
    MEASURED = "measured tables"
    TRAFFIC = "traffic of links"
    LOGS = "logs of jobs"
    LAUNCH = "processes of a job that are not started"
    MPI = "MPI's network"
    JOBS = "jobs that do not start, or are ended"
    CALLS = "calls that fail in a job"
    PLUGINS = "plugins of NCCL and offloads"
    PARTS = "parts of a job that report errors"
    KERNEL = "what the kernel of a node reports"
    STORAGE = "files that ranks read and write"
    SCHEDULER = "nodes that a scheduler does not use"
    HANG = "jobs that hang"
    RECORDINGS = "recordings of NCCL in a job"
    GRAPH_FILE = "graph file"


OF_LOGS = (
    Area.LOGS,
    Area.LAUNCH,
    Area.MPI,
    Area.JOBS,
    Area.CALLS,
    Area.PLUGINS,
    Area.PARTS,
    Area.KERNEL,
    Area.STORAGE,
    Area.SCHEDULER,
)
"""The areas of what is known from lines of logs."""


class Pattern(NamedTuple):
    """The words of a finding in a log line, in one or several releases of NCCL and other programs.

    regex: what a line must contain. meaning: what it says, in plain words. common: other programs use the same
    words, so that only NCCL's own lines count. general: it counts only if no less general pattern matches; 1 for words
    of several causes, 2 for a part of NCCL. follows: such lines follow from another fault, if the log has one.
    suspect: harmless by itself, and the likely cause where the ranks then fail to connect.
    """

    regex: str
    level: Level
    meaning: str
    common: bool = False
    general: int = 0
    follows: bool = False
    suspect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Card:
    """The words of one finding.

    title: what is wrong, in one line. levels: those that any of its detectors reports. about: what it is and why it
    matters. effect: what follows from it, where that is the same everywhere. remedy: what to do. sure: how to be sure,
    with a command. passes: what is true where nothing is found. reads: what is looked at. shows: lines of logs by which
    `log explain` recognises it. shared_with: ids that have such a line as well, one of which `log explain` may name.
    hints: lines that healthy jobs print too, to compare by eye. patterns: what recognises its lines, in all releases.
    links: where users met it.
    """

    id: str
    title: str
    levels: tuple[Level, ...]
    about: str
    effect: str = ""
    remedy: str = ""
    sure: str = ""
    passes: str = ""
    reads: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    shared_with: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    links: tuple[str, ...] = ()

    def finding(
        self,
        level: Level,
        subject: str,
        message: str,
        *,
        effect: str = "",
        fix: bool = True,
        host: str = "",
        line: int | None = None,
        evidence: Mapping[str, Any] | None = None,
    ) -> Finding:
        """A finding of this card. fix: whether there is anything to do; then it has the card's remedy, never another.

        PASS has none.
        """
        return Finding(
            id=self.id,
            level=level,
            subject=subject,
            message=message,
            evidence=evidence or {},
            effect=effect,
            remedy=self.remedy if fix and level is not PASS else "",
            host=host,
            line=line,
        )


@cache
def cards() -> Mapping[str, Card]:
    """All cards by id, in their order: area by area, and within one as they stand in its file."""
    return {card.id: card for area in areas_of_cards() for card in in_area(area)}


def areas_of_cards() -> list[Area]:
    """The areas that have a file of cards, in their order."""
    return sorted((Area[file.name.upper()] for file in pkgutil.iter_modules(folder.__path__)), key=list(Area).index)


def in_area(area: Area) -> tuple[Card, ...]:
    """The cards of an area's file."""
    return tuple(card for card in vars(import_module(_file(area))).values() if isinstance(card, Card))


def _file(area: Area) -> str:
    return f"{folder.__name__}.{area.name.lower()}"


def in_order(found: Iterable[Card]) -> list[Card]:
    """Some cards in the order of all. Loads no other file of cards."""
    loaded = (area for area in Area if _file(area) in sys.modules)
    places = {card.id: place for place, card in enumerate(card for area in loaded for card in in_area(area))}
    return sorted(found, key=lambda card: places[card.id])


def other_causes(card: Card) -> tuple[str, ...]:
    """The ids that share log lines with a card."""
    others = (other for other in cards().values() if card.id in other.shared_with or other.id in card.shared_with)
    return tuple(other.id for other in others)
