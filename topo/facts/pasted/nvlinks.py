# SPDX-License-Identifier: Apache-2.0
"""The NVLinks of pasted GPUs as NVML would answer them: counts out of a matrix, states out of `nvlink -s`, beside those
that hwloc has (hwloc_nvlinks.py).

A matrix says how many NVLinks join two GPUs. Where a GPU would need more than it can have, they go through NVSwitches.
"""

from typing import Any

from railgauge.topo.facts.pasted import gpu_models
from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.facts.pasted.placement import is_gpu, letters

UNSEEN = "FFFFFFFF:FF:FF.0"
"""NVML's bus id of an NVSwitch that the host does not see."""
TO_GPU, TO_CPU, TO_SWITCH = 0, 1, 2  # nvmlIntNvLinkDeviceType_t
MOST = 18
"""NVLinks of any GPU."""
BOARD = 4
"""GPUs of a board on which each is wired to each other."""
Wires = dict[tuple[int, int], int]


def wires(host: PastedHost) -> Wires:
    """How many NVLinks join two GPUs by a matrix, by index, in both directions."""
    if host.matrix is None:
        return {}
    pairs = {pair: one for pair, one in letters(host.matrix).items() if is_gpu(pair[0]) and is_gpu(pair[1])}
    return {
        (int(one[3:]), int(other[3:])): int(letter[2:]) for (one, other), letter in pairs.items() if letter[:2] == "NV"
    }


def has_switches(found: Wires) -> bool:
    """Whether a GPU is joined with more NVLinks than any can have."""
    totals: dict[int, int] = {}
    for (one, _), count in found.items():
        totals[one] = totals.get(one, 0) + count
    return max(totals.values(), default=0) > MOST


def most_nvlinks(host: PastedHost) -> int:
    """How many NVLinks the GPUs have that have the most."""
    found = wires(host)
    states = max((len(gpu.get("link_states", ())) for gpu in host.gpus.values()), default=0)
    if has_switches(found):
        return max(states, *found.values())
    return max([states, *(sum(n for (one, _), n in found.items() if one == index) for index in host.gpus)])


def answer(host: PastedHost) -> bool:
    """Give each GPU its `links`; whether anything is known of them."""
    found = wires(host)
    states = {index: gpu.pop("link_states", {}) for index, gpu in host.gpus.items()}
    if host.matrix is None and not any(states.values()):
        return any("links" in gpu for gpu in host.gpus.values())
    switched = has_switches(found) if found else len(host.gpus) > BOARD
    if not found and any(states[index] for index, gpu in host.gpus.items() if "links" not in gpu):
        where = "NVSwitches" if switched else "the other GPUs of the board"
        host.assumed.append(f"nvidia-smi nvlink -s does not say where links go: to {where} assumed")
    for index, gpu in host.gpus.items():
        if found and switched:
            count = max((n for (one, _), n in found.items() if one == index), default=0)
            gpu["links"] = _states([link(UNSEEN, TO_SWITCH)] * count, states[index])
        elif found:
            peers = sorted((other, n) for (one, other), n in found.items() if one == index)
            ends = [str(host.gpus[other]["pci"]) for other, n in peers for _ in range(n) if other in host.gpus]
            gpu["links"] = _states([link(end, TO_GPU) for end in ends], states[index])
        elif "links" in gpu:
            gpu["links"] = _states(gpu["links"], states[index])
        else:
            gpu["links"] = _ends_assumed(host, index, states[index], switched=switched)
    return True


def _states(links: list[dict[str, Any]], states: dict[int, int]) -> list[dict[str, Any]]:
    """The links with the states that nvlink -s has beside a matrix; those of its links beyond them are down."""
    down = [dict(link(None, None), state=0) for number, up in states.items() if not up]
    return [*links, *down]


def _ends_assumed(host: PastedHost, index: int, states: dict[int, int], *, switched: bool) -> list[dict[str, Any]]:
    others = [gpu["pci"] for other, gpu in sorted(host.gpus.items()) if other != index]
    links = []
    for number, up in sorted(states.items()):
        if switched or not others:
            one = link(UNSEEN, TO_SWITCH)
        else:
            one = link(str(others[number * len(others) // len(states) % len(others)]), TO_GPU)
        links.append({**one, "state": up, "p2p": up})
    return links


def link(remote: str | None, kind: int | None) -> dict[str, Any]:
    """NVML's answer about a link that is up."""
    return {"state": 1, "p2p": 1, "remote": remote, "version": None, "type": -1 if kind is None else kind}


def assumed_capability(host: PastedHost) -> list[int]:
    """The compute capability of GPUs without a name."""
    return list(gpu_models.of_nvlinks(most_nvlinks(host)))
