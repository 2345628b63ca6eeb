# SPDX-License-Identifier: Apache-2.0
"""GPUs that a machine has lost: on PCI and not in NVML, in NVML and not in CUDA, or missing altogether.

A process that is given some of a machine's GPUs has lost none: a container, a job's cgroup, a VM, MIG.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from railgauge.topo.expect.shipped import find
from railgauge.topo.expect.switch_groups import gpu_gaps
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pci_devices import gpus
from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.values.busid import from_nvml, is_bus_id

DRIVER = "nvidia"
DEAD = (63, 255)  # the link width of a device that answers with ones alone
NOT_GIVEN = re.compile(r"permission", re.IGNORECASE)  # NVML_ERROR_NO_PERMISSION
NO_DEVICE = re.compile(r"status 100$")  # CUDA_ERROR_NO_DEVICE
SHARE = 3 / 4  # of the GPUs on PCI that NVML lists, where nobody knows which the process is given
BOARDS = (8, 16)  # GPUs of boards with switches
LEAST_OF_BOARD = 4
MESH = (4, 8)  # GPUs of boards on which each is wired to each other
LEAST_WIRED = 3  # GPUs that tell the same of a board


class LostDevice(NamedTuple):
    """A lost device: its bus id, or where it was; why, in words. sure: False where it may be as it should be. switch:
    the upstream port above the place of the only one that is gone there.
    """

    subject: str
    why: str
    sure: bool = True
    switch: str | None = None


def lost_gpus(facts: MachineFacts) -> list[LostDevice]:
    """All of them, each once, by the surest sign. NVML must have answered, and PCI been read."""
    found: dict[str, LostDevice] = {}
    for one in (*_not_in_nvml(facts), *_not_run(facts), *_silent(facts), *_not_in_cuda(facts), *gone(facts)):
        found.setdefault(one.subject, one)
    return list(found.values())


def _not_in_nvml(facts: MachineFacts) -> Iterator[LostDevice]:
    """Those that NVML cannot reach, or does not list though this process is given them."""
    drivers = {DRIVER, *(one.driver for one in gpus(facts) if facts.gpu(one.bus_id))}  # None: not captured
    given = [one for one in gpus(facts) if one.driver in drivers and not _is_hidden(facts, one)]
    silent = sorted((one for one in given if not facts.gpu(one.bus_id)), key=lambda one: not _is_dead(one))
    said = _refusals(facts)
    for one, why in zip(silent, said, strict=False):
        yield LostDevice(subject=one.bus_id, why=f"NVML cannot reach it: {why}{_answer(one)}")
    for why in said[len(silent) :]:
        yield LostDevice(subject="GPU", why=f"NVML cannot reach a GPU: {why}")
    sure = _is_lost(facts, len(given))
    for one in silent[len(said) :] if sure is not False else ():
        doubt = "" if sure else ": lost, or not given to this process"
        yield LostDevice(subject=one.bus_id, why=f"on PCI, but not in NVML{_answer(one)}{doubt}", sure=bool(sure))


def _refusals(facts: MachineFacts) -> list[str]:
    """Why NVML has no handle of a GPU that it counts; without those that this process may not use."""
    answers = (facts.reader.facts("nvml") or {}).get("gpus", ())
    said = [str(one.get("error") or "incomplete answer") for one in answers if not one.get("pci") or not one.get("cc")]
    return [why for why in said if not NOT_GIVEN.search(why)]


def _is_hidden(facts: MachineFacts, gpu: PciFunction) -> bool:
    """Whether a container's runtime hides it: the driver lists every GPU that it runs."""
    known = facts.gpu_nodes.in_proc
    return known is not None and gpu.bus_id not in known


def _is_lost(facts: MachineFacts, given: int) -> bool | None:
    """Whether GPUs that NVML does not list are lost. Where nobody asked which GPUs this process may open: yes if it has
    most of them, else unknown.
    """
    openable = facts.gpu_nodes.openable
    if openable is not None:
        return openable > len(facts.gpus)
    return True if len(facts.gpus) >= SHARE * given else None


def _is_dead(gpu: PciFunction) -> bool:
    return gpu.link.silent or gpu.link.max_width in DEAD


def _answer(gpu: PciFunction) -> str:
    return ", and it answers no read on the bus" if _is_dead(gpu) else ""


def _not_run(facts: MachineFacts) -> Iterator[LostDevice]:
    """Those that no driver runs, or another one such as vfio-pci, beside others of the model that NVIDIA's does."""
    models = {(one.vendor, one.device) for one in gpus(facts) if one.driver == DRIVER}
    for one in gpus(facts):
        if one.driver != DRIVER and not facts.gpu(one.bus_id) and (one.vendor, one.device) in models:
            runs = f"{one.driver} runs it, not {DRIVER}" if one.driver else "no driver runs it"
            yield LostDevice(subject=one.bus_id, why=f"on PCI, but {runs}{_answer(one)}")


def _silent(facts: MachineFacts) -> Iterator[LostDevice]:
    """Those that NVML still lists and that fell off the bus."""
    for one in gpus(facts):
        if one.link.silent and facts.gpu(one.bus_id):
            yield LostDevice(subject=one.bus_id, why="it answers no read on the bus")


def _not_in_cuda(facts: MachineFacts) -> Iterator[LostDevice]:
    """With MIG CUDA lists one instance alone."""
    cuda = facts.reader.facts("cuda") or {}
    error = str(cuda.get("error", ""))
    answered = NO_DEVICE.search(error) if error else "gpus" in cuda
    if any(gpu.mig for gpu in facts.gpus) or not answered:
        return
    listed = {from_nvml(str(one["pci"])) for one in cuda.get("gpus", ())}
    for gpu in facts.gpus:
        if gpu.bus_id not in listed:
            yield LostDevice(subject=gpu.bus_id, why=f"in NVML as GPU{gpu.index}, but not in CUDA")


def gone(facts: MachineFacts) -> list[LostDevice]:
    """Those that are not on PCI, by the first sign of them. A VM is given a part of its host: it shows none, and a host
    that may be one (/proc/cpuinfo has no flags on ARM and POWER) shows none for sure.
    """
    signs = [] if facts.host.virtual else _far_ends(facts) or _beside_nics(facts) or _of_mesh(facts)
    if facts.host.virtual is None:
        signs = [one._replace(why=f"{one.why}: lost, or not given to this VM", sure=False) for one in signs]
    profiled = _below_profile(facts)
    return profiled if profiled and not all(one.sure for one in signs) else signs or profiled


def _far_ends(facts: MachineFacts) -> list[LostDevice]:
    """The GPUs to which NVLinks lead and that are not on PCI."""
    there = {one.bus_id for one in facts.pci}
    ends: dict[str, list[int]] = {}
    for gpu in facts.gpus:
        for remote in {link.remote for link in gpu.links if link.remote and link.remote_kind == "gpu"}:
            if is_bus_id(remote) and remote not in there:
                ends.setdefault(remote, []).append(gpu.index)
    return [
        LostDevice(subject=bus_id, why=f"not on PCI; NVLinks of {_named(indices)} lead to it")
        for bus_id, indices in ends.items()
    ]


def _named(indices: list[int]) -> str:
    return ", ".join(f"GPU{index}" for index in indices)


def _beside_nics(facts: MachineFacts) -> list[LostDevice]:
    """Those whose siblings share a switch with a NIC of the same model. Boards have 8 or 16 GPUs: switches that could
    lack more than that makes up name no place.
    """
    gaps, there = gpu_gaps(facts), len(gpus(facts))
    lacking, missing = next((full - there for full in BOARDS if full >= there), 0), sum(gap.missing for gap in gaps)
    if there <= LEAST_OF_BOARD or not 0 < lacking <= missing:
        return []
    if lacking == missing:
        why = "not on PCI; {} switches with such a NIC have {} more GPU below them"
        return [
            LostDevice(
                subject=f"GPU below {gap.group.switch}",
                why=why.format(gap.siblings, gap.missing),
                switch=gap.group.switch if gap.missing == 1 else None,
            )
            for gap in gaps
        ]
    places = ", ".join(gap.group.switch for gap in gaps)
    why = f"not on PCI: {there} GPUs of {there + lacking}; {gaps[0].siblings} switches have one, not those at {places}"
    return _several(lacking, why)


def _of_mesh(facts: MachineFacts) -> list[LostDevice]:
    """Those of a board on which each GPU is wired to each other, where all have the links to one more GPU down."""
    there = len(facts.gpus)
    shapes = {shape for gpu in facts.gpus if (shape := _wired(gpu, there))}
    if there < LEAST_WIRED or len(shapes) != 1 or not all(_wired(gpu, there) for gpu in facts.gpus):
        return []
    each, missing = shapes.pop()
    if there + missing not in MESH:
        return []
    why = f"not on PCI; each of the {there} GPUs has {each} NVLinks to each other and {each * missing} that are down"
    return _several(missing, why)


def _wired(gpu: NvmlGpu, there: int) -> tuple[int, int] | None:
    """How many NVLinks it has to each of the others, and to how many more its links that are down would lead."""
    counts = dict(gpu.nvlinks)
    down = sum(link.up is False for link in gpu.links)
    each = next(iter(counts.values()), 0)
    whole = len(counts) == there - 1 and set(counts.values()) == {each} and not down % each
    return (each, down // each) if whole and down else None


def _below_profile(facts: MachineFacts) -> list[LostDevice]:
    """Those that the machine's model has besides, where its profile is known (NVSwitches, product)."""
    found = find(facts)
    expected = found.profile.expect.get("gpus") if found else None
    if found is None or not isinstance(expected, str):
        return []
    there, full = max(len(gpus(facts)), len(facts.gpus)), int(expected)
    why = f"not on PCI; {found.profile.about} has {full} GPUs ({found.by}), {there} are there"
    return _several(full - there, why)


def _several(missing: int, why: str) -> list[LostDevice]:
    """GPUs of which nobody knows the place."""
    names = ["missing GPU"] if missing == 1 else [f"missing GPU {number + 1} of {missing}" for number in range(missing)]
    return [LostDevice(subject=name, why=why) for name in names]
