# SPDX-License-Identifier: Apache-2.0
"""Captures of the nodes of a made fabric: one machine many times, with the fabric's names, GUIDs and LIDs."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from railgauge.topo.errors import UsageError
from railgauge.topo.fabric.model import FabricEndpoint, FabricMap
from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.sources.host_identity import BOOT_ID, HOSTNAME
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS, read_rdma

DOWN = {"state": "1: DOWN", "phys_state": "2: Polling", "lid": "0x0", "sm_lid": "0x0"}
UP = {"state": "4: ACTIVE", "phys_state": "5: LinkUp"}
WAITING = {"state": "2: INIT", "phys_state": "5: LinkUp"}
MANAGER_LID = "0x1"
PRIVATE = re.compile(r"\b(192\.168|10\.\d{1,3})\.(\d{1,3})\.\d{1,3}\b")
GPU = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeModel:
    """A machine whose RDMA devices stand for the rails. folders: of each device in sysfs, by its name."""

    capture: Capture
    devices: tuple[str, ...]
    folders: Mapping[str, str]


def node_model(capture: Capture, rails: int, storage: bool) -> NodeModel:
    """The machine as a model. UsageError if it has too few InfiniBand devices for the rails."""
    reader = CaptureReader(capture)
    every = [one for one in read_rdma(reader, gids=False) if one.ports and not one.virtual]
    by_layer = {
        layer: [one.name for one in every if one.ports[0].link_layer == layer] for layer in ("InfiniBand", "Ethernet")
    }
    first = by_layer["InfiniBand"][:rails]
    if len(first) < rails:
        raise UsageError(f"--rails {rails}: the machine of --machine has {len(first)} InfiniBand devices")
    rest = [one for one in (*by_layer["InfiniBand"][rails:], *by_layer["Ethernet"]) if one not in first]
    if storage and not rest:
        raise UsageError("--storage: the machine of --machine has no device beside its rails")
    devices = (*first, *rest[:1]) if storage else tuple(first)
    return NodeModel(
        capture=capture,
        devices=devices,
        folders={one.name: reader.realpath(f"{CLASS}/{one.name}") or f"{CLASS}/{one.name}" for one in every},
    )


def node_capture(model: NodeModel, node: str, number: int, fabric: FabricMap, setting: str | None) -> Capture:
    """The capture of one node, `number` among all; devices that the fabric has no cable for are down."""
    other = model.capture
    texts = {**other.texts, HOSTNAME: node, BOOT_ID: str(UUID(bytes=_hash(node, ""))) + "\n"}
    ones = {one.device: one for one in fabric.nodes.get(node, ())}
    for device, folder in model.folders.items():
        for name, value in _device(fabric, node, device, ones.get(device)).items():
            texts[f"{folder}/{name}"] = value
    manifest = {**other.manifest, "host": node, "redacted": None, "environment": _environment(other, setting)}
    facts = {name: _individual(value, node, number) for name, value in other.facts.items()}
    return replace(other, manifest=manifest, texts=texts, facts=facts)


def _hash(node: str, what: str) -> bytes:
    return hashlib.sha256(f"{node} {what}".encode()).digest()[:16]


def _individual(value: Any, node: str, number: int) -> Any:
    """Facts with the UUIDs of other GPUs, and other addresses of the same networks, in them."""
    text = GPU.sub(lambda found: f"GPU-{UUID(bytes=_hash(node, found[0]))}", json.dumps(value))
    return json.loads(PRIVATE.sub(lambda found: _address(found, number), text))


def _address(found: re.Match[str], number: int) -> str:
    """The address of the node of a number, 254 of them in a network of 256."""
    return f"{found[1]}.{(int(found[2]) + number // 254) % 256}.{1 + number % 254}"


def _environment(capture: Capture, setting: str | None) -> dict[str, str]:
    given: dict[str, str] = capture.manifest.get("environment", {})
    return given if setting is None else {**given, "NCCL_IB_HCA": setting}


def _device(fabric: FabricMap, node: str, device: str, one: FabricEndpoint | None) -> dict[str, str]:
    """What sysfs has of a device, by path below its folder."""
    port = {f"ports/1/{name}": value for name, value in DOWN.items()}
    if one is None:
        return port
    up = WAITING if one.lid is None else UP
    if one.end in fabric.cable_at:
        port |= {f"ports/1/{name}": value for name, value in up.items()}
        port |= {
            "ports/1/lid": f"{one.lid or 0:#x}",
            "ports/1/sm_lid": MANAGER_LID if one.lid else "0x0",
            "ports/1/link_layer": "InfiniBand",
            "ports/1/rate": _rate(fabric, one),
        }
    return port | {
        "node_guid": _grouped(one.key),
        "sys_image_guid": _grouped(one.system),
        "node_desc": f"{node} {device}",
        "ports/1/gids/0": f"fe80:0000:0000:0000:{_grouped(one.address)}",
    }


def _rate(fabric: FabricMap, one: FabricEndpoint) -> str:
    cable = fabric.cable_at[one.end]
    return f"{(cable.gb_per_s or 0) * 8:g} Gb/sec ({cable.rate})"


def _grouped(digits: str) -> str:
    return ":".join(digits[place : place + 4] for place in range(0, len(digits), 4))
