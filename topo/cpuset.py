# SPDX-License-Identifier: Apache-2.0
"""Sets of cores in the two spellings of sysfs: lists ("0-3,8") and 32-bit mask words ("ff,ffffffff")."""


def from_list(text: str) -> tuple[int, ...]:
    """Cores of a cpulist such as "0-3,8", ascending; ValueError when it is not one."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        if not part:
            continue
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if high - low > 1 << 16:
            raise ValueError(f"{part!r} spans too many cores")
        cpus.update(range(low, high + 1))
    return tuple(sorted(cpus))


def from_mask(text: str) -> tuple[int, ...]:
    """Cores of a cpumap such as "00000000,0000000f", ascending; ValueError when it is not one."""
    words = text.strip().split(",")
    if len(words) > 1 << 10 or any(len(word) > 8 for word in words):
        raise ValueError("not 32-bit words")
    value = 0
    for word in words:
        value = (value << 32) | int(word, 16)
    return tuple(i for i in range(value.bit_length()) if value >> i & 1)


def to_list(cpus: tuple[int, ...]) -> str:
    """The shortest cpulist of ascending cores: (0, 1, 2, 8) is "0-2,8"."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
