# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a capture: a digest of all its facts but those of the individual machine. Rules find the same
on captures with equal fingerprints.

UUIDs, GUIDs, MACs, GIDs and addresses are numbered in order of appearance, so that equality and shared networks are
kept. Facts that only VOLATILE rules (examination.py) read are left out: counters, free memory, the host's identity.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from railgauge.topo.facts.capture import Capture
from railgauge.topo.facts.shapes import LATER_FACTS
from railgauge.topo.facts.sources.host_identity import BOOT_ID, HOSTNAME
from railgauge.topo.findings.node.host_id_collision import SETTING as HOST_ID

CPUINFO = "/proc/cpuinfo"
VOLATILE = (
    "interfaces",
    "shared_memory",
    "kernel_log",
    "gpu_health",
    "interface_statistics",
    *LATER_FACTS,
)
LEFT_OUT = re.compile(r"/(?:hw_)?counters/|/hwmon/hwmon\d+/temp|/node_desc$|/(?:sm_)?lid$")
CLOCK = re.compile(r"^(?:cpu MHz|bogomips)\b.*$", re.MULTILINE | re.IGNORECASE)
OWN = re.compile(r"[0-9A-Fa-f:-]{17,}")  # a MAC is the shortest; GUIDs, GIDs and UUIDs are longer, bus ids shorter
CONTAINERS = re.compile(r"\b(?:veth|cali|lxc)[0-9a-z]+\b")  # interfaces with random names
MEANT = re.compile(
    r"(?:fe80|0000)(?::0000){3}|0000(?::0000){7}", re.IGNORECASE
)  # such a GID has a meaning: link-local, or empty


def fingerprint(capture: Capture) -> str:
    """The digest."""
    texts = {path: text for path, text in capture.texts.items() if not LEFT_OUT.search(path)}
    texts |= {path: "" for path in (HOSTNAME, BOOT_ID) if path in texts}
    if CPUINFO in texts:
        texts[CPUINFO] = _processors(texts[CPUINFO])
    facts: dict[str, object] = {name: answer for name, answer in capture.facts.items() if name not in VOLATILE}
    facts["settings"] = _settings(capture.facts.get("settings"))
    facts["interfaces"] = _interfaces(capture.facts.get("interfaces"))
    texts = dict(sorted(texts.items()))
    places = json.dumps([list(texts), capture.links, capture.manifest.get("problems", {})], sort_keys=True)
    told = json.dumps([list(texts.values()), facts], sort_keys=True)
    text = _numbered(CONTAINERS, places + _numbered(OWN, told))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=20).hexdigest()


def _numbered(pattern: re.Pattern[str], text: str) -> str:
    """The text with each match by the number of its first appearance."""
    found: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        if not {":", "-"} & set(match[0]) and pattern is OWN:
            return match[0]  # a number
        kept = MEANT.match(match[0])
        return f"<{kept[0] if kept else ''}{found.setdefault(match[0], len(found))}>"

    return pattern.sub(numbered, text)


def _processors(text: str) -> str:
    """The first processor without its clock, and how many there are."""
    return CLOCK.sub("", text.partition("\n\n")[0]) + str(text.count("\nprocessor"))


def _settings(answer: Mapping[str, Any] | None) -> object:
    """NCCL's settings; of the host's id only whether it is set."""
    if answer is None or HOST_ID not in answer.get("environment", {}):
        return answer
    return {**answer, "environment": {**answer["environment"], HOST_ID: "set"}}


def _interfaces(answer: Mapping[str, Any] | None) -> object:
    """The interfaces with their addresses by kind and network."""
    if answer is None or "interfaces" not in answer:
        return answer
    networks: dict[str, int] = {}
    return [
        {**one, "index": 0, "addresses": [_kind(text, networks) for text in one.get("addresses", ())]}
        for one in answer["interfaces"]
    ]


def _kind(text: str, networks: dict[str, int]) -> str:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    if address.is_link_local or address.is_loopback:
        return f"{address.version} link-local" if address.is_link_local else str(address)
    network = text.rpartition("." if address.version == 4 else ":")[0]
    return f"{address.version} network {networks.setdefault(network, len(networks))}"
