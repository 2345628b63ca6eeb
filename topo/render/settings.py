# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings on a machine (railgauge/env/1): the effect of each, and NCCL's selection under them."""

from collections.abc import Iterator, Sequence
from typing import Any

from railgauge.topo.facts.known_settings import KNOWN
from railgauge.topo.findings.settings.judgement import Judgement
from railgauge.topo.findings.settings.selection import ChosenPort, Selection
from railgauge.topo.findings.settings.verdict import SettingVerdict


def settings_lines(judged: Sequence[Judgement], now: Selection, *, known: bool) -> Iterator[str]:
    """Each setting with its verdict, then interfaces and RDMA ports; `known`: the environment was recorded."""
    for one in judged:
        finding = f" [{one.opinion.finding}]" if one.opinion.finding else ""
        yield f"{one.setting.name}={one.setting.value} ({one.setting.origin}): {one.opinion.verdict}{finding}"
        yield f"    {one.opinion.why}"
        if one.without and one.opinion.verdict is not SettingVerdict.HARMLESS:
            yield f"    without it: {one.without}"
    if not known:
        yield "Environment not recorded: only /etc/nccl.conf and --set are shown."
    elif not judged:
        yield "No NCCL setting is in force."
    interfaces = "unknown" if now.interfaces is None else ", ".join(now.interfaces) or "none"
    yield f"Interfaces (bootstrap uses the first): {interfaces}"
    if now.former and now.former[:1] != (now.interfaces or ())[:1]:
        yield f"Interfaces with NCCL up to 2.27, which ignores their state: {', '.join(now.former)}"
    if now.comm_id:
        yield f"Bootstrap: the interface in the subnet of NCCL_COMM_ID={now.comm_id} (NCCL 2.29: one outside it)"
    for port in now.ports:
        gid = "" if port.gid_index is None else f"GID {port.gid_index} ({port.gid or 'empty'}), "
        yield f"RDMA port {port.name}: {gid}{port.why}"
    if now.plugin:
        yield f"RDMA ports: those of the network {now.plugin}, without which NCCL does not start"
    elif not now.ports:
        yield "RDMA ports: none, data between nodes uses sockets"


def settings_document(judged: Sequence[Judgement], now: Selection, unset: Selection, *, known: bool) -> dict[str, Any]:
    """The document but for its head; `unset` is what NCCL selects without any setting."""
    return {
        "known": known,
        "settings": [_setting(one) for one in judged],
        "selects": _selection(now),
        "unset": _selection(unset),
    }


def _setting(one: Judgement) -> dict[str, Any]:
    known = KNOWN.get(one.setting.name)
    return {
        "name": one.setting.name,
        "value": one.setting.value,
        "origin": one.setting.origin,
        "verdict": str(one.opinion.verdict),
        "why": one.opinion.why,
        "without": one.without,
        "finding": one.opinion.finding,
        "meaning": known.meaning if known else None,
        "default": known.default or None if known else None,
        "since": known.since or None if known else None,
    }


def _selection(selection: Selection) -> dict[str, Any]:
    interfaces = None if selection.interfaces is None else list(selection.interfaces)
    former = None if selection.former is None else list(selection.former)
    return {
        "interfaces": interfaces,
        "interfaces_before_2_28": former,
        "ports": [_port(port) for port in selection.ports],
    }


def _port(port: ChosenPort) -> dict[str, Any]:
    return {
        "port": port.name,
        "link_layer": port.link_layer,
        "gid_index": port.gid_index,
        "gid": port.gid,
        "why": port.why,
    }
