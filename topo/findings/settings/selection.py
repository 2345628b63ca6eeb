# SPDX-License-Identifier: Apache-2.0
"""NCCL's selection on a machine under its settings: interfaces, RDMA ports, and the GID of each port."""

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.ib_plugin import NcclPort, nccl_ports, read_ib_settings
from railgauge.topo.nccl.settings.gid import ipv4
from railgauge.topo.nccl.settings.hca import plugin_off, wants_plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPort:
    """An RDMA port that NCCL takes, as mlx5_0:1. gid_index and gid are None if the table is unknown or the entry
    is empty; why: the reason for the index.
    """

    name: str
    link_layer: str | None
    gid_index: int | None
    gid: str | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """interfaces: those of sockets, the first that of the bootstrap; None if addresses are unknown. former: those of
    NCCL before 2.28. comm_id: NCCL_COMM_ID, whose subnet the bootstrap's interface is in. ports: those of RDMA, empty
    if NCCL uses sockets. plugin: the network that NCCL_NET names where it is not NCCL's own, which takes ports itself.
    """

    interfaces: tuple[str, ...] | None
    former: tuple[str, ...] | None
    comm_id: str
    ports: tuple[ChosenPort, ...]
    plugin: str = ""


def select(machine: Machine, settings: Mapping[str, str]) -> Selection:
    """NCCL's selection under these settings."""
    return Selection(
        interfaces=machine.sockets_under(settings),
        former=machine.sockets_under(settings, former=True),
        comm_id=settings.get("NCCL_COMM_ID", ""),
        ports=tuple(map(_chosen, _ports(machine, settings))),
        plugin=settings["NCCL_NET"] if wants_plugin(settings) else "",
    )


def _ports(machine: Machine, settings: Mapping[str, str]) -> tuple[NcclPort, ...]:
    if machine.facts is None or plugin_off(settings):
        return ()
    return nccl_ports(machine.facts.rdma, read_ib_settings(settings), machine.sources.verbs)


def _chosen(port: NcclPort) -> ChosenPort:
    choice = port.gid
    return ChosenPort(
        name=f"{port.name}:{port.rdma_port.number}",
        link_layer=port.rdma_port.link_layer,
        gid_index=choice.index,
        gid=None if choice.gid is None else ipv4(choice.gid) or choice.gid.gid,
        why=choice.why,
    )
