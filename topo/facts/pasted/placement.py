# SPDX-License-Identifier: Apache-2.0
"""A PCI tree that has the relations of a matrix of `nvidia-smi topo -m`, which has no bus ids.

PIX: below one switch; PXB: below switches of one root port; PHB: below one host bridge; NODE: on one NUMA node; SYS: on
different ones. Pairs of GPUs with NVLinks say nothing of PCI; what the NICs beside them say stands in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railgauge.topo.facts.pasted.smi_matrix import SmiMatrix
from railgauge.topo.values.busid import ASSUMED
from railgauge.topo.values.number import natural

LEVELS = ("PIX", "PXB", "PHB", "NODE")
GPUS, NICS, SLOT = 0x00, 0x80, 0x80
"""Assumed buses of GPUs and of NICs, so that NCCL, which sorts NICs by address, has them in the matrix's order."""
LAST_BUS = 0xFF


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedPlace:
    """Where a device of the matrix is: bus ids from the root port to itself, the host bridge, the NUMA node by number.

    known_numa: whether the matrix says the number.
    """

    device: str
    way: tuple[str, ...]
    root: str
    numa: int
    known_numa: bool


def is_gpu(name: str) -> bool:
    """Whether a column is a GPU's."""
    return name.startswith("GPU") and name[3:].isdecimal()


def letters(matrix: SmiMatrix) -> dict[tuple[str, str], str]:
    """The letters of each pair in both directions, of which a paste may have one."""
    found = {(column, row): letter for (row, column), letter in matrix.cells.items() if row != column}
    return {**found, **{pair: letter for pair, letter in matrix.cells.items() if pair[0] != pair[1]}}


def numa_numbers(matrix: SmiMatrix) -> dict[str, int]:
    """The NUMA node of each row that says one: of a list the first, which has the cores."""
    found = {}
    for row, (_, numa, _) in matrix.affinities.items():
        first = numa.split(",")[0].split("-")[0]
        if first.isdecimal() and len(first) < 5:
            found[row] = int(first)
    return found


def _cores(matrix: SmiMatrix) -> dict[str, str]:
    """The cores next to each row that says some: drivers before 2021 say no NUMA node."""
    return {row: cpus for row, (cpus, _, _) in matrix.affinities.items() if cpus[:1].isdecimal()}


def place(matrix: SmiMatrix, bus_ids: Mapping[str, str]) -> tuple[PastedPlace, ...]:
    """Every device of the matrix in its place, but for GPUs of which it says none; `bus_ids` are those that are known
    otherwise.
    """
    devices = sorted(matrix.columns, key=lambda name: (not is_gpu(name), natural(name)))
    known, numbers = letters(matrix), numa_numbers(matrix)
    cores = _cores(matrix)
    devices = [one for one in devices if not is_gpu(one) or one in {**numbers, **cores} or _is_related(one, known)]
    groups = {level: _groups(devices, known, LEVELS[: at + 1]) for at, level in enumerate(LEVELS)}
    groups["NODE"] = _numa_groups(groups["NODE"], known, numbers, cores)
    return _Planting(groups, numbers, bus_ids).places


def _is_related(device: str, known: Mapping[tuple[str, str], str]) -> bool:
    """Whether a letter says where a device is on PCI; a GPU without a row may have NVLinks alone."""
    return any(letter in LEVELS for (one, _), letter in known.items() if one == device)


def _groups(devices: list[str], known: Mapping[tuple[str, str], str], near: tuple[str, ...]) -> list[list[str]]:
    """The devices that such letters join."""
    pairs = (pair for pair, letter in known.items() if letter in near)
    return _joined([[device] for device in devices], pairs)


def _joined(groups: list[list[str]], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    of = {device: group for group in groups for device in group}
    for one, other in pairs:
        if one in of and other in of and of[one] is not of[other]:
            small, large = sorted((of[one], of[other]), key=len)
            large += small
            of.update(dict.fromkeys(small, large))
    return list({id(of[device]): of[device] for group in groups for device in group}.values())


def _numa_groups(
    groups: list[list[str]],
    known: Mapping[tuple[str, str], str],
    numbers: Mapping[str, int],
    cores: Mapping[str, str],
) -> list[list[str]]:
    """The NUMA nodes: groups of one number, or without numbers of the same cores, are one; of the others, those that
    nothing holds apart from another join the one with the fewest GPUs.
    """
    apart = {pair for pair, letter in known.items() if letter == "SYS"}
    first: dict[int | str, str] = {}
    said: Mapping[str, int | str] = numbers or cores
    same = [(device, first.setdefault(where, device)) for device, where in said.items()]
    groups = _joined(groups, [pair for pair in same if numbers or pair not in apart])
    settled = [group for group in groups if any(device in said for device in group)]
    for group in groups:
        if group in settled:
            continue
        free = [one for one in settled if not any((a, b) in apart for a in group for b in one)]
        if free:
            min(free, key=lambda one: sum(map(is_gpu, one))).extend(group)
        else:
            settled.append(group)
    return settled


def assumed_bus_id(device: str, nics: list[str]) -> str:
    """The bus id of a GPU by its number, or of a NIC by its place among all of them."""
    first, number = (GPUS, int(device[3:])) if is_gpu(device) else (NICS, nics.index(device))
    return f"{ASSUMED}:{first + number % SLOT:02x}:{number // SLOT % 32:02x}.0"


class _Planting:
    """The tree as it grows: buses are numbered one after the other."""

    def __init__(
        self, groups: Mapping[str, list[list[str]]], numbers: Mapping[str, int], bus_ids: Mapping[str, str]
    ) -> None:
        self._groups, self._bus_ids = groups, bus_ids
        every = (device for group in groups["NODE"] for device in group)
        self._nics = sorted((device for device in every if not is_gpu(device)), key=natural)
        self._bus, self._domain = 0, int(ASSUMED, 16) - 1
        self._places: list[PastedPlace] = []
        taken = set(numbers.values())
        for node in groups["NODE"]:
            said = next((numbers[device] for device in node if device in numbers), None)
            number = next(n for n in range(len(taken) + 1) if n not in taken) if said is None else said
            taken.add(number)
            for bridge in self._inside("PHB", node):
                self._host_bridge(bridge, number, known=said is not None)

    @property
    def places(self) -> tuple[PastedPlace, ...]:
        """The devices in the order of the tree."""
        return tuple(self._places)

    def _inside(self, level: str, group: list[str]) -> list[list[str]]:
        return [one for one in self._groups[level] if one[0] in group]

    def _host_bridge(self, devices: list[str], numa: int, *, known: bool) -> None:
        if self._bus + 3 + 2 * len(devices) > LAST_BUS:
            self._bus, self._domain = 0, self._domain - 1
        root = f"{self._domain:04x}:{self._next():02x}"
        for slot, below in enumerate(self._inside("PXB", devices), 1):
            port = f"{root}:{slot % 32:02x}.{slot // 32 % 8}"
            leaves = self._inside("PIX", below)
            if len(below) == 1:
                self._device(below[0], (port,), root, numa, known)
            elif len(leaves) == 1:
                self._switch(leaves[0], (port,), root, numa, known)
            else:
                up = f"{self._domain:04x}:{self._next():02x}:00.0"
                bus = self._next()
                for number, leaf in enumerate(leaves):
                    down = f"{self._domain:04x}:{bus:02x}:{number % 32:02x}.{number // 32 % 8}"
                    self._switch(leaf, (port, up, down), root, numa, known)

    def _switch(self, devices: list[str], above: tuple[str, ...], root: str, numa: int, known: bool) -> None:
        up = f"{self._domain:04x}:{self._next():02x}:00.0"
        bus = self._next()
        for number, device in enumerate(devices):
            down = f"{self._domain:04x}:{bus:02x}:{number % 32:02x}.{number // 32 % 8}"
            self._device(device, (*above, up, down), root, numa, known)

    def _device(self, device: str, above: tuple[str, ...], root: str, numa: int, known: bool) -> None:
        own = self._bus_ids.get(device) or assumed_bus_id(device, self._nics)
        self._places.append(PastedPlace(device=device, way=(*above, own), root=root, numa=numa, known_numa=known))

    def _next(self) -> int:
        self._bus += 1
        return self._bus
