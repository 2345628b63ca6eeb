# SPDX-License-Identifier: Apache-2.0
"""What can be expected of a machine, by key: how a value is written, and what meets it.

A value of several devices is one for all of them, or how many of them have each: 8*400+4*200.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from railgauge.topo.errors import UsageError
from railgauge.topo.link_state.pcie import GENERATIONS
from railgauge.topo.values.near import did_you_mean

Expected: TypeAlias = str | Mapping[str, int]
"""One value, or how many devices have each."""

MOST = 1_000_000  # of a number
DOWN = "DOWN"  # the rate of a port that is not active
COUNTED = re.compile(r"(\d{1,5})\*([^+*]+)", re.ASCII)
LINK = re.compile(r"(?:x(?P<lanes>\d{1,2}))?\s*(?:Gen(?P<generation>[1-6]))?", re.IGNORECASE)
WIDTHS = (1, 2, 4, 8, 12, 16, 32)  # that a PCIe link can have
SPEEDS = {generation: speed for speed, generation in GENERATIONS.items()}


class Key(NamedTuple):
    """One key. about: what its value is. of_devices: whether each device has a value, or the machine has one.

    parse: a value as it is compared and shown; ValueError with what it should be. meets: whether a found value does.
    """

    name: str
    about: str
    of_devices: bool
    parse: Callable[[str], str]
    meets: Callable[[str, str], bool]


def _rate(text: str) -> str:
    if text.upper() == DOWN:
        return DOWN
    if not re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII) or float(text) > MOST:
        raise ValueError(f"a number of Gb/s, or {DOWN}")
    return f"{float(text):g}"


def _count(text: str) -> str:
    if not re.fullmatch(r"\d+", text, re.ASCII) or int(text) > MOST:
        raise ValueError("a whole number")
    return str(int(text))


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("a text")
    return text.strip()


def _link(text: str) -> str:
    found = LINK.fullmatch(text.strip())
    if not found or not any(found.groups()) or int(found["lanes"] or 1) not in WIDTHS:
        raise ValueError("lanes and generation, such as x16Gen5")
    parts = (f"x{int(found['lanes'])}" if found["lanes"] else "", f"Gen{found['generation'] or ''}")
    return " ".join(part for part in parts if part not in ("", "Gen"))


def _same(expected: str, found: str) -> bool:
    return expected == found


def _begins(expected: str, found: str) -> bool:
    """Whether a release begins with the expected parts: 570 is met by 570.133.20, and not by 5701."""
    return re.match(rf"{re.escape(expected)}(?![0-9A-Za-z])", found) is not None


def _names(expected: str, found: str) -> bool:
    """Whether a name has the expected words: H100 is met by NVIDIA H100 80GB HBM3."""
    return re.search(rf"(?<!\w){re.escape(expected)}(?!\w)", found, re.IGNORECASE) is not None


def _parts(expected: str, found: str) -> bool:
    """Whether a link has the lanes and the generation that are expected; one of them may be left open."""
    return {*expected.split()} <= {*found.split()}


def share_of_link(expected: str, found: str) -> float | None:
    """The bit rate of a link as a share of what is expected of it; None if unknown."""
    wanted, there = _factors(expected), _factors(found)
    if not wanted or wanted.keys() - there.keys():
        return None
    return math.prod(there[part] / full for part, full in wanted.items())


def _factors(text: str) -> dict[str, float]:
    """The lanes of a link and the GT/s of its generation, as far as the text has them."""
    found = LINK.fullmatch(text)
    if not found:
        return {}
    lanes, generation = found["lanes"], found["generation"]
    return ({"lanes": float(lanes)} if lanes else {}) | ({"speed": SPEEDS[int(generation)]} if generation else {})


KEYS = {
    key.name: key
    for key in (
        Key(name="gpus", about="GPUs", of_devices=False, parse=_count, meets=_same),
        Key(name="nics", about="RDMA NICs", of_devices=False, parse=_count, meets=_same),
        Key(name="nvswitches", about="NVSwitches on PCI", of_devices=False, parse=_count, meets=_same),
        Key(name="numa", about="NUMA nodes with cores", of_devices=False, parse=_count, meets=_same),
        Key(name="product", about="product name (DMI)", of_devices=False, parse=_text, meets=_names),
        Key(name="model", about="model of GPU", of_devices=True, parse=_text, meets=_names),
        Key(name="nvlinks", about="NVLinks of a GPU", of_devices=True, parse=_count, meets=_same),
        Key(name="link", about="PCIe link of a GPU", of_devices=True, parse=_link, meets=_parts),
        Key(name="nic_link", about="PCIe link of an RDMA NIC", of_devices=True, parse=_link, meets=_parts),
        Key(name="rate", about="rate of an RDMA port in Gb/s", of_devices=True, parse=_rate, meets=_same),
        Key(name="mtu", about="MTU of an RDMA port or its interface", of_devices=True, parse=_count, meets=_same),
        Key(name="firmware", about="firmware of an RDMA NIC", of_devices=True, parse=_text, meets=_begins),
        Key(name="vbios", about="VBIOS of a GPU", of_devices=True, parse=_text, meets=_begins),
        Key(name="driver", about="NVIDIA driver", of_devices=False, parse=_text, meets=_begins),
        Key(name="cuda", about="newest CUDA of the driver", of_devices=False, parse=_text, meets=_begins),
        Key(name="nccl", about="NCCL", of_devices=False, parse=_text, meets=_begins),
        Key(name="kernel", about="kernel", of_devices=False, parse=_text, meets=_begins),
    )
}


def parse(key: str, text: str) -> Expected:
    """The value of a key, such as 400 or 8*400+4*200. UsageError for an unknown key or a value that it cannot have."""
    known = known_key(key)
    counts = COUNTED.findall(text) if known.of_devices else []
    if not counts or "+".join(f"{count}*{value}" for count, value in counts) != text:
        return value_of(known, text)
    return {value_of(known, value): int(count) for count, value in counts}


def known_key(name: str) -> Key:
    """The key of that name; UsageError with the most similar one if there is none."""
    if name not in KEYS:
        raise UsageError(unknown_key(name))
    return KEYS[name]


def unknown_key(name: str) -> str:
    """That there is no such key, with the most similar one."""
    hint = did_you_mean(name, KEYS) or f"; use one of: {', '.join(KEYS)}"
    return f"unknown expectation {name!r}{hint}"


def value_of(key: Key, text: str) -> str:
    """A value as it is compared and shown; UsageError if the key cannot have it."""
    try:
        return key.parse(text)
    except ValueError as error:
        raise UsageError(f"{key.name}={text}: expected {error} ({key.about})") from error


def words(expected: Expected) -> str:
    """A value as text: 400, or 8*400+4*200."""
    if isinstance(expected, str):
        return expected
    return "+".join(f"{count}*{value}" for value, count in expected.items())
