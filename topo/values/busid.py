# SPDX-License-Identifier: Apache-2.0
"""PCI bus ids: the spellings of sysfs, NVML and NCCL, and the number NCCL makes of one (`busIdToInt64`)."""

import re

ASSUMED = "ffff"
"""The PCI domain of bus ids that are assumed, as provider files have it; no machine has so many."""
SYSFS_FORM = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$", re.IGNORECASE)


def is_bus_id(text: str) -> bool:
    """Whether the text is a sysfs bus id such as 0000:3b:00.0 (no domain above 0xffff: `checkBDFFormat`)."""
    return SYSFS_FORM.match(text) is not None


def to_number(text: str) -> int:
    """The hexadecimal digits up to the first other character, colons and dots left out; 0000:1b:00.0 is 0x1b000."""
    digits = ""
    for char in text:
        if char in ":.":
            continue
        if char not in "0123456789abcdefABCDEF":
            break
        digits += char
    return int(digits[:16], 16) if digits else 0


def from_nvml(text: str) -> str:
    """NVML's 00000000:1B:00.0 in NCCL's legacy spelling 0000:1b:00.0: at least 4 digits, a domain of 28 bits.

    An NVSwitch that a VM cannot see is FFFFFFFF:FF:FF.0 in NVML and fffffff:ff:ff.0 in NCCL's dump.
    """
    domain, _, rest = text.lower().partition(":")
    try:
        return f"{int(domain, 16) & 0xFFFFFFF:04x}:{rest}"
    except ValueError:
        return text.lower()


def next_bus_id(text: str) -> str:
    """The bus id whose number is one higher, as `int64ToBusId` spells it: after 0000:1b:00.0 comes 0000:1b:00.1."""
    number = to_number(text) + 1
    return f"{number >> 20:04x}:{number >> 12 & 0xFF:02x}:{number >> 4 & 0xFF:02x}.{number & 0xF:x}"
