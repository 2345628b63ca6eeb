# SPDX-License-Identifier: Apache-2.0
"""NCCL_ALGO and NCCL_PROTO: which algorithms and protocols a collective may use.

The form is NCCL's (`parseList`, src/graph/tuning.cc of 2.30): lists of names with commas, `^` excludes; a list
after `collective:` is for that one, and `;` separates lists, of which only the first may omit the collective. Case
does not matter. NCCL does not start with an invalid one ("invalid usage").
"""

from collections.abc import Mapping
from typing import NamedTuple

from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

COLLECTIVES = {
    "broadcast": Collective.BROADCAST,
    "reduce": Collective.REDUCE,
    "allgather": Collective.ALL_GATHER,
    "reducescatter": Collective.REDUCE_SCATTER,
    "allreduce": Collective.ALL_REDUCE,
}
ALGORITHMS = ("tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat")
PROTOCOLS = ("ll", "ll128", "simple")


class Allowed(NamedTuple):
    """What each collective may use, by NCCL's names in lower case; None without a setting.

    Without a setting LL128 is used only where NCCL trusts it; a setting that allows it forces it.
    """

    algorithms: Mapping[Collective, frozenset[str] | None]
    protocols: Mapping[Collective, frozenset[str] | None]

    def algorithm(self, collective: Collective, algorithm: Algorithm) -> bool:
        """Whether the collective may use it."""
        names = self.algorithms.get(collective)
        return names is None or algorithm.value in names

    def protocol(self, collective: Collective, protocol: Protocol, *, trusted: bool) -> bool:
        """Whether the collective may use it; `trusted`: whether NCCL trusts LL128, which decides without a setting."""
        names = self.protocols.get(collective)
        if names is None:
            return trusted or protocol is not Protocol.LL128
        return protocol.value in names


def read_allowed(settings: Mapping[str, str]) -> Allowed:
    """Parse NCCL_ALGO and NCCL_PROTO; UsageError for what NCCL would reject."""
    return Allowed(
        algorithms=_parse("NCCL_ALGO", settings.get("NCCL_ALGO", ""), ALGORITHMS),
        protocols=_parse("NCCL_PROTO", settings.get("NCCL_PROTO", ""), PROTOCOLS),
    )


def _parse(name: str, text: str, known: tuple[str, ...]) -> dict[Collective, frozenset[str] | None]:
    found: dict[Collective, frozenset[str] | None] = dict.fromkeys(COLLECTIVES.values())
    for number, entry in enumerate(part for part in text.split(";") if part):
        collective, colon, names = entry.partition(":")
        if not colon and number:
            raise UsageError(
                f"{name}={text!r}: only the first list may omit the collective; {entry!r} is not the first"
            )
        chosen = _names(name, names if colon else entry, known)
        found.update(dict.fromkeys(_collectives(name, collective) if colon else found, chosen))
    return found


def _collectives(name: str, text: str) -> tuple[Collective, ...]:
    if text.lower() not in COLLECTIVES:
        raise UsageError(f"{name}: unknown collective {text!r}; use one of {', '.join(COLLECTIVES)}")
    return (COLLECTIVES[text.lower()],)


def _names(name: str, text: str, known: tuple[str, ...]) -> frozenset[str]:
    named = [word.lower() for word in text.removeprefix("^").split(",") if word]
    wrong = [word for word in named if word not in known]
    if wrong:
        raise UsageError(f"{name}: unknown name {wrong[0]!r}; use one of {', '.join(known)}")
    return frozenset(known) - frozenset(named) if text.startswith("^") else frozenset(named)
