# SPDX-License-Identifier: Apache-2.0
"""The findings of `check` on each of many nodes: nodes with equal fingerprints are examined once a process.

Rules about facts of individual nodes, such as counters, examine each node.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from railgauge.topo.expect.expectations import NOTHING_EXPECTED, Expectations
from railgauge.topo.facts.capture import CaptureReader, captured_at
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.files.compression import MAX_TOTAL
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.findings.card import Area, in_area
from railgauge.topo.findings.cluster.endpoints import Endpoint, endpoints
from railgauge.topo.findings.cluster.fingerprint import fingerprint
from railgauge.topo.findings.cluster.node import Recording
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node import host_id_collision, ib_errors_rising, shm_leftovers, shm_too_small
from railgauge.topo.findings.node.rule import ComparisonRule, Rule
from railgauge.topo.findings.node.rules import RULES, check
from railgauge.topo.machine import Machine, load_machine, recorded

VOLATILE = (
    host_id_collision.RULE,
    ib_errors_rising.RULE,
    shm_leftovers.RULE,
    shm_too_small.RULE,
    *(rule for rule in RULES if rule.card in in_area(Area.HEALTH)),
)
"""Rules about facts of individual nodes."""
LASTING = tuple(rule for rule in RULES if rule not in VOLATILE)
SHARED = ("gdr", "gpus", "host", "interfaces", "pci", "rdma", "verbs")
"""Facts that nodes of one fingerprint share."""
COMPUTED = ("system", "denied", "paths", "rdma_ports", "interface_names", "steering")
"""What follows from them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedPort:
    """An RDMA port that NCCL uses. network: of its first routable GID's interface, "" if unknown."""

    name: str
    link_layer: str | None
    network: str
    mtu: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Individual:
    """Facts that identify a node or show which nodes it can reach. uuids: of its GPUs.

    identity: NCCL_HOSTID, or name and boot id; "" if unknown. bootstrap: the interface of
    NCCL's bootstrap, with its IPv4 addresses and their network ("" if unknown); None if unknown.
    virtual: that interface has no device. endpoints: the addresses for other nodes. crosses_nics: NCCL_CROSS_NIC=1.
    gpus and nics: names and bus ids of its GPUs and RDMA devices. driver, nccl: releases; captured: when; None if
    unknown.
    """

    identity: str = ""
    uuids: tuple[str, ...] = ()
    bootstrap: tuple[str, tuple[str, ...], str] | None = None
    virtual: bool = False
    ports: tuple[UsedPort, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    crosses_nics: bool = False
    gpus: tuple[tuple[str, str], ...] = ()
    nics: tuple[tuple[str, str], ...] = ()
    driver: str | None = None
    nccl: str | None = None
    captured: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """One node: the findings shared by all nodes of its fingerprint, its own, and its individual facts."""

    name: str
    fingerprint: str
    shared: tuple[Finding, ...]
    own: tuple[Finding, ...]
    individual: Individual


_known: dict[tuple[str, str], tuple[Machine, tuple[Finding, ...]]] = {}
"""By fingerprint, and what is expected of all nodes and asked."""


def examine_node(
    name: str,
    path: str,
    recording: Recording | None,
    *,
    expected: Expectations = NOTHING_EXPECTED,
    only: frozenset[str] | None = None,
) -> Examined:
    """Examine a node by its capture, or by the topology file if it is None. InputError if it is invalid.

    `only`: the ids of the rules; None is all.
    """
    if recording is None:
        key = hashlib.blake2b(read_bytes(path, MAX_TOTAL), digest_size=20).hexdigest()
        known = key, f"{expected} {sorted(only or ())}"
        shared = _known[known][1] if known in _known else _examined(known, load_machine(path), _of(RULES, only))[1]
        return Examined(name=name, fingerprint=key, shared=shared, own=(), individual=Individual())
    capture, reader = recording
    key = fingerprint(capture)
    known = key, f"{expected} {sorted(only or ())}"
    machine, shared = (
        _known[known]
        if known in _known
        else _examined(known, replace(recorded(reader), expected=expected), _of(LASTING, only))
    )
    mine = _as_individual(machine, reader)
    return Examined(
        name=name,
        fingerprint=key,
        shared=shared,
        own=_nameless(check(mine, _of(VOLATILE, only)), mine),
        individual=_individual(mine),
    )


def _examined(
    known: tuple[str, str], machine: Machine, rules: Sequence[Rule | ComparisonRule]
) -> tuple[Machine, tuple[Finding, ...]]:
    return _known.setdefault(known, (machine, _nameless(check(machine, rules), machine)))


def _of(rules: Sequence[Rule | ComparisonRule], only: frozenset[str] | None) -> tuple[Rule | ComparisonRule, ...]:
    return tuple(rule for rule in rules if only is None or rule.id in only)


def _nameless(findings: tuple[Finding, ...], machine: Machine) -> tuple[Finding, ...]:
    """Without the host's name, which differs between equal nodes."""
    return tuple(
        replace(one, host="", subject="" if machine.host and one.subject == machine.host else one.subject)
        for one in findings
    )


def _as_individual(machine: Machine, reader: CaptureReader) -> Machine:
    """The same machine with this node's own facts; what its fingerprint holds is neither read nor computed again."""
    shared = {name: told for name, told in vars(machine.facts).items() if name in SHARED} if machine.facts else {}
    facts = MachineFacts(reader).but(**shared)
    return machine.like(*COMPUTED, facts=facts, host=facts.identity[0] or "")


def _individual(machine: Machine) -> Individual:
    name, boot_id = machine.sources.identity
    reader = machine.reader
    nvml = (reader.facts("nvml") or {}) if reader else {}
    networks = _networks(machine)
    bootstrap = _bootstrap(machine, networks)
    interfaces = machine.sources.interfaces
    return Individual(
        identity=machine.settings.get(host_id_collision.SETTING) or (f"{name or ''} {boot_id}" if boot_id else ""),
        uuids=tuple(gpu["uuid"] for gpu in nvml.get("gpus", ()) if gpu.get("uuid")),
        bootstrap=bootstrap,
        virtual=any(one.bus_id is None for one in interfaces if bootstrap and one.name == bootstrap[0]),
        ports=tuple(
            UsedPort(
                name=f"{port.name}:{port.rdma_port.number}",
                link_layer=port.rdma_port.link_layer,
                network=networks.get(port.rdma_port.netdev or "", ((), ""))[1],
                mtu=machine.sources.verbs.device(port.name).port(port.rdma_port.number).active_mtu,
            )
            for port in machine.rdma_ports
            if not port.device.virtual
        ),
        endpoints=endpoints(machine),
        crosses_nics=machine.steering.cross_nic == 1,
        gpus=tuple((f"GPU{gpu.index}", gpu.bus_id) for gpu in machine.sources.gpus),
        nics=tuple((device.name, device.bus_id or "") for device in machine.sources.rdma if not device.virtual),
        driver=machine.sources.driver.module or machine.sources.driver.nvml,
        nccl=machine.sources.nccl,
        captured=captured_at(machine.reader),
    )


def _networks(machine: Machine) -> dict[str, tuple[tuple[str, ...], str]]:
    """IPv4 addresses and the network of the first, by interface."""
    from ipaddress import ip_interface

    facts = (machine.reader.facts("interfaces") or {}) if machine.reader else {}
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    for one in facts.get("interfaces", ()):
        addresses = tuple(text for text in one.get("addresses", ()) if ":" not in text)
        prefix = one.get("prefix")
        network = str(ip_interface(f"{addresses[0]}/{prefix}").network) if addresses and prefix is not None else ""
        found[one["name"]] = (addresses, network)
    return found


def _bootstrap(
    machine: Machine, networks: dict[str, tuple[tuple[str, ...], str]]
) -> tuple[str, tuple[str, ...], str] | None:
    chosen = machine.sockets_under(machine.settings)
    return (chosen[0], *networks.get(chosen[0], ((), ""))) if chosen else None
