# SPDX-License-Identifier: Apache-2.0
"""What lspci's line about a device says: class and ids, as numbers (-n, -nn) or by the PCI ID repository's names."""

import re

from railgauge.topo.facts.pasted import gpu_models
from railgauge.topo.facts.pasted.host import PastedFunction

CLASSES = {
    "3D controller": "0x030200",
    "VGA compatible controller": "0x030000",
    "Display controller": "0x038000",
    "Processing accelerators": "0x120000",
    "Ethernet controller": "0x020000",
    "Infiniband controller": "0x020700",
    "Network controller": "0x028000",
    "PCI bridge": "0x060400",
    "Host bridge": "0x060000",
    "Bridge": "0x068000",
    "Non-Volatile memory controller": "0x010802",
    "Audio device": "0x040300",
}
VENDORS = (
    (r"(?i:nvidia)", "0x10de"),
    (r"Mellanox", "0x15b3"),
    (r"Intel\b", "0x8086"),
    (r"Advanced Micro Devices.*\[AMD/ATI\]", "0x1002"),
    (r"Advanced Micro Devices", "0x1022"),
    (r"Broadcom / LSI|LSI Logic", "0x1000"),
    (r"Broadcom", "0x14e4"),
    (r"PLX Technology", "0x10b5"),
    (r"PMC-Sierra|Microsemi|Microchip Technology", "0x11f8"),
    (r"Amazon\.com", "0x1d0f"),
    (r"Red Hat", "0x1af4"),
)
CLASS_ID = re.compile(r"\[([0-9a-f]{4})\]:?")
IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
NUMERIC = re.compile(r"(?:Class )?([0-9a-f]{4}): ([0-9a-f]{4}):([0-9a-f]{4})\b")
UNKNOWN_DEVICE = re.compile(r"\bDevice ([0-9a-f]{4})\b")
REVISION = re.compile(r"\s*\((?:rev|prog-if) [^()]*(?:\[[^\]]*\])?\)")
NO_DISPLAY = re.compile(r"Audio|USB|UCSI|NVSwitch|Bridge|BlueField", re.IGNORECASE)
NO_NETWORK = re.compile(r"bridge|DMA|SoC management|NVMe", re.IGNORECASE)


def describe(function: PastedFunction, text: str, *, bridge: bool = False) -> None:
    """Add what the text after the bus id says; `bridge`: other devices are below it."""
    function.name = REVISION.sub("", text).strip()
    if numeric := NUMERIC.match(text):
        function.pci_class, function.vendor, function.device = (f"0x{one}" for one in numeric.groups())
    else:
        label, _, _ = text.partition(": ")
        function.name = function.name.partition(": ")[2] or function.name
        found = CLASS_ID.search(label)
        known = CLASSES.get(CLASS_ID.sub("", label).strip())
        function.pci_class = f"0x{found[1]}" if found else known
        if (ids := IDS.findall(text)) and ids:
            function.vendor, function.device = (f"0x{one}" for one in ids[-1])
    if function.pci_class and len(function.pci_class) == len("0x0302"):
        function.pci_class = _whole_class(function.pci_class)
    function.vendor = function.vendor or next((one for word, one in VENDORS if re.search(word, text)), None)
    if function.device is None and (unknown := UNKNOWN_DEVICE.search(text)):
        function.device = f"0x{unknown[1]}"
    if bridge:
        function.pci_class = function.pci_class or CLASSES["PCI bridge"]
    function.pci_class = function.pci_class or _class_by_name(function, text)


def _whole_class(text: str) -> str:
    """A class with its interface, which lspci leaves out: of those named above, else 00."""
    return next((one for one in CLASSES.values() if one.startswith(text)), f"{text}00")


def _class_by_name(function: PastedFunction, text: str) -> str | None:
    """The class of a device in a tree, which has no classes; None where the name does not tell."""
    if function.vendor == "0x10de" and not NO_DISPLAY.search(text) and _is_gpu(function, text):
        return CLASSES["3D controller"]
    if function.vendor == "0x10de" and "NVSwitch" in text:
        return CLASSES["Bridge"]
    if re.search(r"ConnectX|Ethernet|Virtio network|BlueField|Elastic Fabric", text) and not NO_NETWORK.search(text):
        return CLASSES["Network controller"]
    return None


def _is_gpu(function: PastedFunction, text: str) -> bool:
    return bool(gpu_models.of_chip(text) or gpu_models.of_product(text) or gpu_models.of_id(function.device))
