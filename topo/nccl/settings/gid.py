# SPDX-License-Identifier: Apache-2.0
"""The GID that NCCL uses on a port, and why: NCCL_IB_GID_INDEX, or its walk through the table.

NCCL's functions: `ncclIbGetGidIndex`, `ncclUpdateGidIndex` (transport/net_ib/connect.cc) of 2.21 and later.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.errors import UsageError
from railgauge.topo.facts.sources.sysfs_infiniband import Gid, RdmaPort
from railgauge.topo.nccl.settings.bounded import bounded
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.topo.values.number import atoi

IPV4, IPV6 = "AF_INET", "AF_INET6"
IPV4_HEADS = (0xFFFF, 0xFF0E_0000_0000_0000_0000_FFFF)  # upper 96 bits: mapped IPv4, and its multicast
LINK_LOCAL = 0xFE80 << 112
BITS = {IPV4: 32, IPV6: 128}
GID_INDEX, ROCE_VERSION, FLID_INDEX = "NCCL_IB_GID_INDEX", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_ROUTABLE_FLID_GID_INDEX"
NUMBERS = {GID_INDEX: -1, ROCE_VERSION: 2, FLID_INDEX: 1}
WISHES = (ROCE_VERSION, "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE")
"""Settings that a GID has to suit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GidSettings:
    """NCCL's settings for the choice. range is (address, leading bits) of NCCL_IB_ADDR_RANGE, None for any."""

    index: int = -1
    roce_version: int = 2
    family: str = IPV4
    range: tuple[int, int] | None = None
    routable_flid_index: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GidChoice:
    """The index that NCCL uses, its GID (None: empty, so connections will fail), and why.

    index is None without a table. suits: False if no entry has what the settings want and NCCL keeps another.
    """

    index: int | None
    gid: Gid | None
    why: str
    suits: bool = True


def read_gid_settings(environment: Mapping[str, str]) -> GidSettings:
    """The settings in an environment; invalid ones are ignored, as in NCCL."""
    family = environment.get("NCCL_IB_ADDR_FAMILY")
    family = family if family in BITS else IPV4
    return GidSettings(
        index=parameter(environment, GID_INDEX, NUMBERS[GID_INDEX]),
        roce_version=parameter(environment, ROCE_VERSION, NUMBERS[ROCE_VERSION]),
        family=family,
        range=address_range(environment.get("NCCL_IB_ADDR_RANGE") or "", family),
        routable_flid_index=parameter(environment, FLID_INDEX, NUMBERS[FLID_INDEX]),
    )


def check_gid_settings(environment: Mapping[str, str]) -> None:
    """Refuse settings that NCCL would ignore or read as another value.

    Raises:
        UsageError: a setting is invalid; the message says what is valid.
    """
    for name, default in NUMBERS.items():
        bounded(environment, name, default)
    family = environment.get("NCCL_IB_ADDR_FAMILY") or IPV4
    if family not in BITS:
        raise UsageError(f"NCCL_IB_ADDR_FAMILY={family}: use {' or '.join(BITS)}")
    text = environment.get("NCCL_IB_ADDR_RANGE")
    if text and address_range(text, family) is None:
        example = "192.0.2.0/24" if family == IPV4 else "2001:db8::/64"
        raise UsageError(f"NCCL_IB_ADDR_RANGE={text}: expected a network of {family}, e.g. {example}")


def address_range(text: str, family: str) -> tuple[int, int] | None:
    """NCCL_IB_ADDR_RANGE, "192.0.2.0/24", as (address, leading bits); None when NCCL would not use it."""
    address, slash, bits = text.partition("/")
    try:
        packed = socket.inet_pton(getattr(socket, family), address)
    except (OSError, ValueError):
        return None
    length = atoi(bits)
    return (int.from_bytes(packed, "big"), length) if slash and length and length <= BITS[family] else None


def choose_gid(port: RdmaPort, settings: GidSettings) -> GidChoice:
    """The GID that NCCL uses on a port."""
    table = {gid.index: gid for gid in port.gids}
    is_roce = port.link_layer != "InfiniBand"
    if is_roce and settings.index >= 0:
        return GidChoice(index=settings.index, gid=table.get(settings.index), why="NCCL_IB_GID_INDEX, used unchecked")
    if port.gid_table_length is None:
        return GidChoice(index=None, gid=None, why="GIDs not recorded")
    if not is_roce:
        return _infiniband(port, table, settings)
    index = 0
    for candidate in range(1, port.gid_table_length):
        if _is_better(table.get(candidate), table.get(index), settings):
            index = candidate
    gid = table.get(index)
    wanted = f"RoCE v{settings.roce_version}, {'IPv4' if settings.family == IPV4 else 'IPv6'}"
    wanted += " in NCCL_IB_ADDR_RANGE" if settings.range else ""
    suits = _suits(gid, settings)
    why = f"first entry with {wanted}" if suits else f"no entry with {wanted}: NCCL keeps this one"
    return GidChoice(index=index, gid=gid, why=why, suits=suits)


def _infiniband(port: RdmaPort, table: Mapping[int, Gid], settings: GidSettings) -> GidChoice:
    """GID 0, or the one with a FLID (bytes 4 and 5), by which routers find a subnet."""
    routable = settings.routable_flid_index
    if 0 <= routable < (port.gid_table_length or 0) and (_number(table.get(routable)) >> 80) & 0xFFFF:
        return GidChoice(index=routable, gid=table.get(routable), why="it has a FLID")
    return GidChoice(index=0, gid=table.get(0), why="InfiniBand uses GID 0")


def _is_better(candidate: Gid | None, present: Gid | None, settings: GidSettings) -> bool:
    """Whether NCCL moves on to a candidate.

    A change to the wanted family is enough, whatever the candidate is; within the family its version must be the
    wanted one, and differ from the present one's unless that one is unusable.
    """
    fits = _family(candidate) == settings.family and _in_range(candidate, settings)
    if fits and _family(present) != settings.family:
        return True
    if not fits or not _is_usable(candidate):
        return False
    wanted, now = _version(candidate), _version(present)
    return wanted == settings.roce_version and (wanted != now or not _is_usable(present))


def _number(gid: Gid | None) -> int:
    """A GID as 128 bits; an unused entry reads as zeros."""
    return int(gid.gid.replace(":", ""), 16) if gid else 0


def _version(gid: Gid | None) -> int | None:
    return gid.roce_version if gid else None


def _family(gid: Gid | None) -> str:
    return IPV4 if _number(gid) >> 32 in IPV4_HEADS else IPV6


def is_link_local(gid: Gid) -> bool:
    """Whether a GID is one of fe80::/64, known in its own subnet only."""
    return _number(gid) >> 64 == LINK_LOCAL >> 64


def _is_usable(gid: Gid | None) -> bool:
    """Whether a GID is configured and not link-local."""
    return gid is not None and _number(gid) != 0 and not is_link_local(gid)


def _in_range(gid: Gid | None, settings: GidSettings) -> bool:
    if settings.range is None:
        return True
    address, length = settings.range
    bits = BITS[settings.family]
    own = _number(gid) & ((1 << bits) - 1)
    return length > 0 and (own ^ address) >> (bits - length) == 0


def _suits(gid: Gid | None, settings: GidSettings) -> bool:
    """Whether a GID fits the settings."""
    fits = _is_usable(gid) and _family(gid) == settings.family and _in_range(gid, settings)
    return fits and _version(gid) == settings.roce_version


def ipv4(gid: Gid) -> str | None:
    """The IPv4 address in a GID, None without one."""
    if _family(gid) != IPV4:
        return None
    return socket.inet_ntop(socket.AF_INET, (_number(gid) & 0xFFFFFFFF).to_bytes(4, "big"))
