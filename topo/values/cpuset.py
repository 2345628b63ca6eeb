# SPDX-License-Identifier: Apache-2.0
"""Sets of cores in the two spellings of sysfs: lists ("0-3,8", which spans.listed writes) and 32-bit mask
words ("ff,ffffffff").
"""

MAX_CORES = 1 << 16  # eight times the most of any kernel
WORD = 32  # bits in a word of a mask


def from_list(text: str) -> tuple[int, ...]:
    """Cores of a cpulist such as "0-3,8", ascending; ValueError when it is not one."""
    cpus: set[int] = set()
    listed = 0
    for part in text.strip().split(","):
        if not part:
            continue
        first, _, last = part.partition("-")
        low, high = _number(first, 10), _number(last or first, 10)
        listed += max(high - low, 0) + 1
        if listed > MAX_CORES:
            raise ValueError(f"lists more than {MAX_CORES} cores")
        cpus.update(range(low, high + 1))
    return tuple(sorted(cpus))


def from_mask(text: str) -> tuple[int, ...]:
    """Cores of a cpumap such as "00000000,0000000f", ascending; ValueError when it is not one.

    Of a word of more than 8 digits the last 8 count, as in NCCL's `ncclStrToCpuset`.
    """
    words = text.strip().split(",")
    if len(words) > 1 << 10:
        raise ValueError(f"more than {1 << 10} words")
    value = 0
    for word in words:
        value = (value << WORD) | (_number(word, 16) & 0xFFFFFFFF)
    return tuple(i for i in range(value.bit_length()) if value >> i & 1)


def _number(text: str, base: int) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a {'hexadecimal ' if base == 16 else ''}number") from None


def to_mask(cpus: tuple[int, ...], size: int) -> str:
    """The mask of some cores as sysfs prints it for `size` cores: the highest word first, with the digits it needs."""
    mask = sum(1 << cpu for cpu in cpus)
    words = [f"{mask >> (WORD * i) & 0xFFFFFFFF:08x}" for i in reversed(range(-(-size // WORD)))]
    digits = -(-((size - 1) % WORD + 1) // 4)  # digits of the highest word
    return ",".join([words[0][-digits:], *words[1:]])
