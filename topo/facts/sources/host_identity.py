# SPDX-License-Identifier: Apache-2.0
"""Who a host is: its name and the 64-bit host hash that distinguishes the hosts in a topology.

NCCL's `getHostHash` hashes host name and boot id, or NCCL_HOSTID alone; the value here is the same.
"""

from collections.abc import Mapping

from railgauge.topo.facts.reader import Reader

HOSTNAME = "/proc/sys/kernel/hostname"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
LONGEST = 1023  # bytes of the identity that NCCL takes
WORD = (1 << 64) - 1
MIX = (0x9DE62BBC8CEF3CE3, 0x485CD6311B599E79)  # multipliers of NCCL's `eatHash` (src/include/utils.h)
DIGEST = (0xBAC3BD562846DE6B, 0x995A187A14E7B445)  # and of its `digestHash`


def host_name(reader: Reader) -> str | None:
    """The host's name, None when it is not readable."""
    return reader.text(HOSTNAME)


def host_hash(reader: Reader, environment: Mapping[str, str]) -> str | None:
    """The host hash as `0x...`; the same for every process of one boot of one host.

    None when neither host name nor boot id is readable: NCCL would then give all such hosts the same one.
    """
    identity = environment.get("NCCL_HOSTID") or f"{host_name(reader) or ''}{reader.text(BOOT_ID) or ''}"
    if not identity:
        return None
    return f"{nccl_hash(identity.encode('utf-8', 'surrogateescape')[:LONGEST]):#x}"


def nccl_hash(data: bytes) -> int:
    """NCCL's `getHash` of some bytes: an accumulator of two words, mixed before each chunk of 8 bytes is added."""
    low, high = 1 ^ len(data), 1
    for start in range(0, len(data), 8):
        low = (low + high) & WORD
        high ^= low
        low = (low ^ low >> 31) * MIX[0] & WORD
        high = (high ^ high >> 32) * MIX[1] & WORD
        low = (low + int.from_bytes(data[start : start + 8], "little")) & WORD
    low = ((low ^ low >> 31) * DIGEST[0] + high) & WORD
    return (low ^ low >> 32) * DIGEST[1] & WORD
