# SPDX-License-Identifier: Apache-2.0
"""The compute capability of NVIDIA's GPUs by the words that outputs have for them: product, architecture, chip, PCI id.

Sources: NVIDIA's table "CUDA GPU compute capability", and the PCI ID repository (pci-ids.ucw.cz) for chips and ids.
"""

import re

PRODUCTS = (
    (r"GB10\b", (12, 1)),
    (r"[GB]B?300", (10, 3)),
    (r"GB200|B[12]00\b", (10, 0)),
    (r"RTX PRO \d|RTX 50\d\d|Blackwell", (12, 0)),
    (r"GH200|H[128]00|H20\b|H800", (9, 0)),
    (r"RTX 40\d\d|\bL4\b|\bL40|\bL20\b|\bL2\b|Ada", (8, 9)),
    (r"A100|A800|A30\b|PG506", (8, 0)),
    (r"\bA(?:2|10|10G|16|40)\b|RTX 30\d\d|RTX A\d{3,4}", (8, 6)),
    (r"\bT4\b|RTX 20\d\d|Quadro RTX|TITAN RTX|GTX 16\d\d|T1000|T400|T600", (7, 5)),
    (r"V100|TITAN V|GV100", (7, 0)),
    (r"P100|GP100", (6, 0)),
    (r"\bP40\b|\bP4\b|GTX 10\d\d|TITAN X|TITAN Xp", (6, 1)),
)
CHIPS = {
    "GP100": (6, 0),
    "GP10": (6, 1),
    "GV100": (7, 0),
    "TU1": (7, 5),
    "GA100": (8, 0),
    "GA10": (8, 6),
    "AD10": (8, 9),
    "GH100": (9, 0),
    "GB100": (10, 0),
    "GB102": (10, 0),
    "GB110": (10, 3),
    "GB20": (12, 0),
}
ARCHITECTURES = {
    "Pascal": (6, 1),
    "Volta": (7, 0),
    "Turing": (7, 5),
    "Ampere": (8, 6),
    "Ada Lovelace": (8, 9),
    "Hopper": (9, 0),
    "Blackwell": (10, 0),
}
IDS = (
    (0x15F0, 0x15FF, (6, 0)),
    (0x1B00, 0x1CFF, (6, 1)),
    (0x1DB0, 0x1DFF, (7, 0)),
    (0x1E00, 0x1FFF, (7, 5)),
    (0x20B0, 0x20FF, (8, 0)),
    (0x2180, 0x21FF, (7, 5)),
    (0x2200, 0x22FF, (8, 6)),
    (0x2300, 0x23FF, (9, 0)),
    (0x2480, 0x25FF, (8, 6)),
    (0x2680, 0x28FF, (8, 9)),
    (0x2900, 0x297F, (10, 0)),
    (0x2B80, 0x2FFF, (12, 0)),
    (0x3180, 0x31FF, (10, 3)),
)
"""First and last id of a chip's range; the first that holds counts."""
MOST_NVLINKS = ((18, (9, 0)), (12, (8, 0)), (6, (7, 0)), (4, (6, 0)))
"""NVLinks of a GPU, and the oldest with as many."""


def of_product(name: str | None) -> tuple[int, int] | None:
    """By the product's name ("NVIDIA H100 80GB HBM3"); None if it is not known."""
    return next((found for pattern, found in PRODUCTS if re.search(pattern, name or "")), None)


def of_architecture(name: str | None) -> tuple[int, int] | None:
    """By `nvidia-smi -q`'s architecture, which does not tell an A100 from an A40: the product goes first."""
    return ARCHITECTURES.get(name or "")


def of_chip(text: str) -> tuple[int, int] | None:
    """By a chip's name in lspci's text ("GH100 [H100 SXM5 80GB]")."""
    return next((found for chip, found in CHIPS.items() if re.search(rf"\b{chip}", text)), None)


def of_id(device: str | None) -> tuple[int, int] | None:
    """By the PCI device id ("0x2330")."""
    number = int(device, 16) if device and re.fullmatch(r"0x[0-9a-fA-F]{1,4}", device) else -1
    return next((found for first, last, found in IDS if first <= number <= last), None)


def of_nvlinks(count: int) -> tuple[int, int]:
    """By how many NVLinks a GPU has at least; Ampere without any, since NCCL plans the same for all PCIe cards."""
    return next((found for least, found in reversed(MOST_NVLINKS) if count <= least), (9, 0)) if count else (8, 0)
