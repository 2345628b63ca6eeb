# SPDX-License-Identifier: Apache-2.0
"""Whether a setting has an effect on a machine, and whether it is useful."""

from collections.abc import Callable
from dataclasses import dataclass

from railgauge.topo.errors import Error
from railgauge.topo.facts.known_settings import KNOWN
from railgauge.topo.facts.sources.nccl_settings import Setting, in_folder
from railgauge.topo.findings.file_rule import failed
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node import (
    conf_file_forgotten,
    gid_index_invalid,
    ib_hca_nomatch,
    ib_hca_prefix,
    nccl_setting_harmful,
    nccl_setting_ignored,
    nccl_setting_invalid,
    relaxed_ordering_off,
    socket_ifname_nomatch,
    socket_ifname_virtual,
)
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.findings.node.setting_harm import UNIT_US, direct, harm_of, with_p2p
from railgauge.topo.findings.settings.other_programs import judged_other
from railgauge.topo.findings.settings.selection import Selection, select
from railgauge.topo.findings.settings.verdict import Opinion, SettingVerdict
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.topo.nccl.settings.validity import fault_of, is_default, is_meant_for_nccl

IFNAME, HCA, GID = "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX"
ORDERING = relaxed_ordering_off.SETTING
RULES: dict[str, tuple[Rule, ...]] = {
    IFNAME: (socket_ifname_nomatch.RULE, socket_ifname_virtual.RULE),
    HCA: (ib_hca_nomatch.RULE, ib_hca_prefix.RULE),
    GID: (gid_index_invalid.RULE,),
    ORDERING: (relaxed_ordering_off.RULE,),
}
"""The rules about the effect of a setting on the machine."""
SEE_DEBUG = "NCCL was built with TRACE=1; else it prints as INFO does"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A setting and the opinion on it. without: the value without it; "" if it does not matter."""

    setting: Setting
    opinion: Opinion
    without: str


def judge(machine: Machine, setting: Setting) -> Judgement:
    """The effect of a setting on its machine."""
    now = select(machine, machine.settings)
    rest = {name: value for name, value in machine.settings.items() if name != setting.name}
    other = select(machine, rest)
    try:
        opinion = _opinion(machine, setting, now, other)
    except Error:
        raise
    except Exception as error:
        failure = failed(setting.name, machine.host, error)
        opinion = Opinion(verdict=SettingVerdict.UNKNOWN, why=failure.message, failure=failure)
    return Judgement(setting=setting, opinion=opinion, without=_without(setting, other))


def _opinion(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion:
    if not is_meant_for_nccl(setting.name):
        return judged_other(machine, setting)
    if fault := fault_of(setting, machine.sources.nccl):
        verdict = SettingVerdict.IGNORED if fault.ignored else SettingVerdict.HARMFUL
        rule = nccl_setting_ignored.RULE if fault.ignored else nccl_setting_invalid.RULE
        return Opinion(verdict=verdict, why=fault.message, finding=rule.id)
    if not setting.value:
        return Opinion(verdict=SettingVerdict.HARMLESS, why="it is empty, which equals not set")
    if finding := _finding(machine, setting):
        return Opinion(verdict=SettingVerdict.HARMFUL, why=finding.message, finding=finding.id)
    if opinion := _harmful(machine, setting):
        return opinion
    special = SPECIAL.get(setting.name)
    return (special(machine, setting, now, other) if special else None) or _plain(setting)


def _finding(machine: Machine, setting: Setting) -> Finding | None:
    """The worst finding of the rules about a setting."""
    found = [finding for rule in RULES.get(setting.name, ()) for finding in rule.check(machine)]
    own = [one for one in found if setting.name != ORDERING or one.subject == ORDERING]
    bad = [one for one in own if one.level in (Level.FAIL, Level.WARN)]
    return min(bad, key=lambda one: one.level is not Level.FAIL, default=None)


def _harmful(machine: Machine, setting: Setting) -> Opinion | None:
    """The harm that it does on the machine."""
    of_file = setting.is_of_file
    rule = conf_file_forgotten.RULE if of_file else nccl_setting_harmful.RULE
    harm = conf_file_forgotten.harm_in_file(machine, setting) if of_file else harm_of(machine, setting)
    if harm is None or harm.level is Level.INFO:
        return None
    found = harm.on(rule.finding(harm.level, setting.name, harm.what))
    why = f"{harm.what} ({found.effect})" if found.effect else harm.what
    return Opinion(verdict=SettingVerdict.HARMFUL, why=why, finding=rule.id, failure=found if found.error else None)


def _plain(setting: Setting) -> Opinion:
    known = KNOWN[setting.name]
    if is_default(known, setting.value):
        return Opinion(verdict=SettingVerdict.HARMLESS, why="it is the default")
    return Opinion(verdict=SettingVerdict.EFFECTIVE, why=known.meaning)


def _interfaces(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion:
    if now.interfaces is None:
        return Opinion(verdict=SettingVerdict.UNKNOWN, why="the addresses of its interfaces are unknown")
    verdict = SettingVerdict.HARMLESS if now.interfaces == other.interfaces else SettingVerdict.EFFECTIVE
    return Opinion(verdict=verdict, why=f"it selects {', '.join(now.interfaces)}")


def _hca(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion:
    names, all_names = [port.name for port in now.ports], [port.name for port in other.ports]
    if not all_names:
        return Opinion(verdict=SettingVerdict.HARMLESS, why="no RDMA port is in use")
    left = [name for name in all_names if name not in names]
    verdict = SettingVerdict.EFFECTIVE if left else SettingVerdict.HARMLESS
    return Opinion(verdict=verdict, why=f"it selects {', '.join(names)}" + (f", not {', '.join(left)}" if left else ""))


def _gid(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion:
    roce = [port for port in now.ports if port.link_layer == "Ethernet"]
    if not roce:
        return Opinion(verdict=SettingVerdict.HARMLESS, why="no RoCE port is in use, and InfiniBand does not read it")
    own = {port.name: port.gid_index for port in other.ports}
    if any(port.gid is None for port in roce):
        return Opinion(verdict=SettingVerdict.UNKNOWN, why="the GIDs of its ports were not captured")
    if all(own.get(port.name) == port.gid_index for port in roce):
        why = "NCCL 2.21 and later find the same index, also after addresses change"
        return Opinion(verdict=SettingVerdict.HARMLESS, why=why)
    differ = ", ".join(f"{port.name} {own.get(port.name)}" for port in roce if own.get(port.name) != port.gid_index)
    return Opinion(verdict=SettingVerdict.EFFECTIVE, why=f"NCCL would take another GID on {differ}")


def _for_rdma(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion | None:
    """Numbers for RDMA, which are not read if no port is in use."""
    if not now.ports:
        return Opinion(verdict=SettingVerdict.HARMLESS, why="no RDMA port is in use, so it is not read")
    if is_default(KNOWN[setting.name], setting.value):
        return None
    number = parameter({setting.name: setting.value}, setting.name, 0)
    return Opinion(verdict=SettingVerdict.EFFECTIVE, why=_of_rdma(setting.name, number, now))


def _of_rdma(name: str, number: int, now: Selection) -> str:
    if name == "NCCL_IB_TIMEOUT":
        later = number > int(KNOWN[name].default)
        noticed = "a dead link is noticed later" if later else "a busy network is taken for a dead link sooner"
        return f"a NIC retries after {UNIT_US * 2**number / 1e6:.3g} s without an answer, so {noticed}"
    if name == "NCCL_IB_TC" and any(port.link_layer == "Ethernet" for port in now.ports):
        return f"RoCE packets carry DSCP {number >> 2}; switches must treat it as lossless"
    if name == "NCCL_IB_TC":
        return "InfiniBand has it only in the headers of routed packets"
    if name == "NCCL_IB_QPS_PER_CONNECTION":
        return f"{number} queue pairs between two ranks: more paths through a network that hashes flows"
    return KNOWN[name].meaning


def _switch(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion | None:
    """A setting that disables a part of NCCL which this machine does not use."""
    if not parameter({setting.name: setting.value}, setting.name, 0):
        return None
    spare = setting.name == "NCCL_SHM_DISABLE" and len(machine.system.gpus) > 1
    what = "does not need: all its GPUs have P2P" if spare else "does not have"
    return Opinion(verdict=SettingVerdict.HARMLESS, why=f"it disables what this machine {what}")


def _net(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion:
    if setting.value.lower() in ("ib", "socket"):
        return Opinion(verdict=SettingVerdict.HARMLESS, why="NCCL would choose it anyway")
    return Opinion(verdict=SettingVerdict.EFFECTIVE, why=f"the network plugin named {setting.value}, if it exists")


def _reach(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion | None:
    """Distance limits of P2P and GPUDirect RDMA that change nothing."""
    rest = machine.under(tuple(one for one in machine.known_settings if one.name != setting.name))
    if setting.name == "NCCL_P2P_LEVEL":
        same, what = with_p2p(machine) == with_p2p(rest), "P2P between the same GPUs"
    else:
        same = direct(machine, own=False) == direct(rest, own=False)
        what = "GPUDirect RDMA between the same GPUs and NICs"
    return Opinion(verdict=SettingVerdict.HARMLESS, why=f"without it there is {what}") if same else None


def _for_sockets(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion | None:
    """Numbers of the socket transport, which carries no data if RDMA does."""
    return (
        Opinion(verdict=SettingVerdict.HARMLESS, why="RDMA carries the data, so it is not read") if now.ports else None
    )


def _topo_file(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion:
    path = in_folder(machine.reader, setting.value) if machine.reader else setting.value
    if machine.reader is None or not machine.reader.knows(path):
        return Opinion(verdict=SettingVerdict.UNKNOWN, why="the file can be checked on the machine only")
    if machine.reader.realpath(path) is None:
        return Opinion(verdict=SettingVerdict.HARMFUL, why=f"{setting.value} does not exist: NCCL continues without it")
    return Opinion(verdict=SettingVerdict.EFFECTIVE, why="NCCL starts from it; check it with railgauge topo lint")


def _debug(machine: Machine, setting: Setting, now: Selection, other: Selection) -> Opinion | None:
    if setting.value.upper() != "TRACE":
        return None
    return Opinion(verdict=SettingVerdict.EFFECTIVE, why=f"calls and steps are printed if {SEE_DEBUG}")


SPECIAL: dict[str, Callable[[Machine, Setting, Selection, Selection], Opinion | None]] = {
    IFNAME: _interfaces,
    HCA: _hca,
    GID: _gid,
    "NCCL_NET": _net,
    **dict.fromkeys(("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_NET_GDR_C2C"), _reach),
    **dict.fromkeys(("NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"), _for_sockets),
    "NCCL_TOPO_FILE": _topo_file,
    "NCCL_DEBUG": _debug,
    **dict.fromkeys(("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_NVB_DISABLE"), _switch),
    **dict.fromkeys((name for name in KNOWN if name.startswith("NCCL_IB_") and name not in (HCA, GID)), _for_rdma),
    "NCCL_IB_DISABLE": _switch,
}
"""Settings whose effect depends on the machine."""


def _without(setting: Setting, other: Selection) -> str:
    """The value without the setting."""
    if setting.name == IFNAME and other.interfaces is not None:
        return ", ".join(other.interfaces) or "no interface"
    if setting.name in (HCA, "NCCL_IB_DISABLE", "NCCL_NET"):
        return ", ".join(port.name for port in other.ports) or other.plugin or "sockets"
    if setting.name == GID:
        own: dict[int | None, list[str]] = {}
        for port in other.ports:
            own.setdefault(port.gid_index, []).append(port.name)
        return "; ".join(f"index {index} on {', '.join(names)}" for index, names in own.items())
    known = KNOWN.get(setting.name)
    return known.default if known else ""
