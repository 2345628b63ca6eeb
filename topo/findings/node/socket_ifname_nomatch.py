# SPDX-License-Identifier: Apache-2.0
"""NCCL_SOCKET_IFNAME matches no interface of this machine, or is ignored."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.sysfs_net import FAMILIES
from railgauge.topo.findings.cards.network import SOCKET_IFNAME_NOMATCH
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.interfaces import FAMILY, matches

SETTING = "NCCL_SOCKET_IFNAME"


def _check(machine: Machine) -> Iterator[Finding]:
    setting = machine.settings.get(SETTING, "")
    names = machine.interface_names
    if len(setting) < 2:  # NCCL ignores a value of one character
        return
    if names is None:
        yield RULE.unknown(SETTING, "the addresses of its interfaces are unknown", value=setting)
    elif not machine.sockets_under(machine.settings):
        yield RULE.finding(
            Level.FAIL,
            SETTING,
            f"{setting!r} matches no interface with an address{_of_family(machine)}",
            value=setting,
            interfaces=list(names),
        )
    else:
        for part in _unmatched(setting, names):
            yield RULE.finding(
                Level.INFO,
                part,
                f"{part!r} of {SETTING} matches no interface with an address",
                fix=False,
                value=setting,
            )


def _of_family(machine: Machine) -> str:
    family = machine.settings.get(FAMILY)
    return f" of {FAMILY}={family}" if family in FAMILIES else ""


def _unmatched(setting: str, names: tuple[str, ...]) -> list[str]:
    """The entries that match nothing."""
    signs = setting[: len(setting) - len(setting.removeprefix("^").removeprefix("="))]
    exact = "=" if "=" in signs else ""
    parts = [part for part in setting[len(signs) :].split(",") if part]
    return [part for part in parts if not any(matches(name, exact + part) for name in names)]


RULE = Rule(card=SOCKET_IFNAME_NOMATCH, needs=(Need.MACHINE, Need.SETTINGS), check=_check)
