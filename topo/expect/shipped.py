# SPDX-License-Identifier: Apache-2.0
"""The profiles that come with railgauge, and which of them a machine is of.

A profile is found by what the machine says of itself, never assumed: every condition in its [match] must hold, and
what is not known holds nowhere.

    product, vendor   regular expressions for the whole DMI product name and vendor
    gpus              the names of its GPUs, by NVML or PCI ids; all GPUs must be of them
    more_gpus_than    more GPUs on PCI than the smaller sizes of the model have
    nvswitches        NVSwitches on PCI, at most so many: a board that has lost one is still of its model
    virtual           whether it is a virtual machine, which may be given a part of the host
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from railgauge.topo.expect.profile import TABLES, Profile, loads
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pci_devices import gpus, nvswitches

FOLDER = "profiles"


class FoundProfile(NamedTuple):
    """A profile, and by what it was found, in words."""

    profile: Profile
    by: str


@cache
def profiles() -> tuple[Profile, ...]:
    """All of them; the more specific ones, those of a product, come first."""
    from importlib.resources import files

    there = sorted(files("railgauge.topo.expect").joinpath(FOLDER).iterdir(), key=lambda path: path.name)
    found = [loads(path.read_bytes(), str(path), (*TABLES, "match")) for path in there]
    return tuple(sorted(found, key=lambda profile: "product" not in profile.match))


def by_name(name: str) -> Profile | None:
    """The shipped profile of that name."""
    return next((profile for profile in profiles() if profile.name == name), None)


def find(facts: MachineFacts) -> FoundProfile | None:
    """The profile of a machine; None where its model is not known for sure."""
    for profile in profiles():
        held = [CONDITIONS[name](facts, value) for name, value in profile.match.items()]
        if held and all(held):
            return FoundProfile(profile=profile, by=", ".join(word for word in held if word))
    return None


def _product(facts: MachineFacts, pattern: str) -> str:
    return f"product {facts.host.product}" if re.fullmatch(pattern, facts.host.product or "") else ""


def _vendor(facts: MachineFacts, pattern: str) -> str:
    return f"vendor {facts.host.vendor}" if re.fullmatch(pattern, facts.host.vendor or "") else ""


def _gpus(facts: MachineFacts, models: list[str]) -> str:
    """Each GPU on PCI is one of the models, by its name in NVML or its ids; where PCI is not read nobody knows."""
    seen = {_model(facts, one.bus_id, f"{one.vendor}:{one.device}".replace("0x", ""), models) for one in gpus(facts)}
    return f"{len(gpus(facts))} x {seen.pop()}" if len(seen) == 1 and None not in seen else ""


def _model(facts: MachineFacts, bus_id: str, ids: str, models: list[str]) -> str | None:
    gpu = facts.gpu(bus_id)
    return next((model for model in models if model in (ids, gpu.name if gpu else None)), None)


def _more_gpus_than(facts: MachineFacts, number: int) -> str:
    return f"{len(gpus(facts))} GPUs" if len(gpus(facts)) > number else ""


def _nvswitches(facts: MachineFacts, most: int) -> str:
    number = len(nvswitches(facts))
    return f"{number} NVSwitch{'es' if number > 1 else ''}" if 0 < number <= most else ""


def _virtual(facts: MachineFacts, wanted: bool) -> str:
    """A processor without flags does not say whether it is virtual."""
    return ("virtual machine" if wanted else "bare metal") if facts.host.virtual is wanted else ""


CONDITIONS: Mapping[str, Callable[[MachineFacts, Any], str]] = {
    "product": _product,
    "vendor": _vendor,
    "gpus": _gpus,
    "more_gpus_than": _more_gpus_than,
    "nvswitches": _nvswitches,
    "virtual": _virtual,
}
"""By name in [match]: what holds, in words; "" where it does not, or is not known."""
