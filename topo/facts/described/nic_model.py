# SPDX-License-Identifier: Apache-2.0
"""What a NIC of a described machine is: [nic.*], its names and addresses still with fields in braces."""

import re
from typing import NamedTuple

from railgauge.topo.facts.described.pci_model import PciModel, read_model
from railgauge.topo.facts.described.section import Section

ETHERNET_CLASS, INFINIBAND_CLASS = "0x020000", "0x020700"
LAYERS = ("Ethernet", "InfiniBand")
STATES = ("ACTIVE", "INIT", "DOWN")
RATE = re.compile(r"[0-9]{1,5}(?:\.[0-9])? Gb/sec")
FIELD = re.compile(r"\{([^{}]*)\}")
FIELDS = ("domain", "bus", "slot", "function", "n", "i")  # in braces in a pattern: docs/reference/fixtures.md


class NicModel(NamedTuple):
    """One [nic.*]. rate is sysfs's text, "400 Gb/sec (4X NDR)". rdma, netdev and address are patterns: see docs.

    max_qp and dma_buf (whether it registers DMA-BUF) are libibverbs' answers.
    """

    pci: PciModel
    rdma: str | None
    netdev: str | None
    address: str | None
    layer: str
    rate: str
    state: str
    firmware: str
    board: str
    hca: str
    max_qp: int | None
    dma_buf: bool
    virtio: bool


def read_nics(top: Section) -> dict[str, NicModel]:
    """[nic.*] by kind."""
    section = top.section("nic")
    return {f"nic.{name}": _model(section.section(name)) for name in section}


def _model(section: Section) -> NicModel:
    layer = _one_of(section, "layer", LAYERS)
    model = NicModel(
        pci=read_model(section, ETHERNET_CLASS if layer == "Ethernet" else INFINIBAND_CLASS),
        rdma=_pattern(section, "rdma"),
        netdev=_pattern(section, "netdev"),
        address=_pattern(section, "address"),
        layer=layer,
        rate=_rate(section),
        state=_one_of(section, "state", STATES),
        firmware=section.text("firmware", ""),
        board=section.text("board", ""),
        hca=section.text("hca", ""),
        max_qp=section.integer("max_qp") if "max_qp" in section else None,
        dma_buf=section.flag("dma_buf", True),
        virtio=section.flag("virtio", False),
    )
    section.end()
    return model


def _pattern(section: Section, key: str) -> str | None:
    """A text with fields in braces, such as mlx5_{n}."""
    pattern = section.maybe(key)
    unknown = [field for field in FIELD.findall(pattern or "") if field not in FIELDS]
    if unknown:
        raise section.wrong(key, f"{pattern!r}: unknown field {unknown[0]!r}; use one of {', '.join(FIELDS)}")
    return pattern


def _rate(section: Section) -> str:
    rate = section.text("rate", "")
    if rate and not RATE.match(rate):
        raise section.wrong("rate", f"is {rate!r}, expected the form of sysfs: 400 Gb/sec (4X NDR)")
    return rate


def _one_of(section: Section, key: str, choices: tuple[str, ...]) -> str:
    found = section.text(key, choices[0])
    if found not in choices:
        raise section.wrong(key, f"is {found!r}, expected one of {', '.join(choices)}")
    return found
