# SPDX-License-Identifier: Apache-2.0
"""Pseudonyms that keep the shape of what they stand for: numbers of hardware and networks, names, UUIDs.

All are made with one secret key: the same input gives the same pseudonym under the same key, and without the key no
way leads back. Numbers are permuted, so two different ones never become one. Kept as they are: the vendor's part of an
address (OUI), what says of which kind an address is, and which addresses share a network (Xu et al., "Prefix-Preserving
IP Address Anonymization", 2002).
"""

import hashlib

ROUNDS = 6
LOCAL_BIT = 0x02_0000  # of the first three bytes: IEEE 802's "locally administered", inverted in an EUI-64 (RFC 4291)
EUI64, MELLANOX = 0xFFFE, 0x0300  # what stands in the middle of a GUID that was made of a MAC
LINK_LOCAL = 0xFE80 << 48  # the upper half of fe80::/64, also InfiniBand's default subnet
V4_MAPPED = 0xFFFF << 32
V4_KEPT = ((0xA9FE0000, 16), (0xC0A80000, 16), (0xAC100000, 12), (0x64400000, 10))  # 169.254, 192.168, 172.16, 100.64
V6_KEPT = ((0xFE80 << 112, 10), (0xFC << 120, 7), (0x2 << 124, 3))  # link-local, unique local, global


def derived_key(text: str) -> bytes:
    """The key that a pass phrase stands for; slow on purpose, since phrases can be guessed."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"railgauge redaction", 200_000)


class Pseudonyms:
    """The pseudonyms of one key (32 bytes). Numbers are as written: 0x0c42a1651234 for 0c:42:a1:65:12:34."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @property
    def mark(self) -> str:
        """A mark that is equal for captures made with the same key."""
        return f"{self._hash(64, 'mark'):016x}"

    def mac(self, value: int) -> int:
        """A MAC of 48 bits: the vendor stays, zero and broadcast stay."""
        if value in (0, (1 << 48) - 1):
            return value
        bits = 40 if value >> 24 & LOCAL_BIT else 24
        return self._scrambled(value, bits)

    def guid(self, value: int) -> int:
        """A GUID or interface identifier of 64 bits; one made of a MAC becomes what the MAC's pseudonym would make."""
        vendor, middle, low = value >> 40, value >> 24 & 0xFFFF, value & 0xFFFFFF
        if value in (0, (1 << 64) - 1):
            return value
        if middle not in (EUI64, MELLANOX):
            return self._scrambled(value, 40)
        flipped = LOCAL_BIT if middle == EUI64 else vendor & LOCAL_BIT
        mac = self.mac((vendor ^ flipped) << 24 | low)
        return (mac >> 24 ^ flipped) << 40 | middle << 24 | mac & 0xFFFFFF

    def ipv4(self, value: int) -> int:
        """An address of 32 bits in the same range (private, link-local); loopback, multicast and zero stay."""
        if value >> 24 in (0, 127) or value >> 28 >= 0xE:
            return value
        return self._network(value, 32, _kept(value, 32, V4_KEPT, 8))

    def ipv6(self, value: int) -> int:
        """An address or GID of 128 bits: its upper half as a network, its lower one as a GUID; mapped IPv4 as IPv4."""
        upper, lower = value >> 64, value & ((1 << 64) - 1)
        if upper == 0 and lower >> 32 == V4_MAPPED >> 32:
            return V4_MAPPED | self.ipv4(lower & 0xFFFFFFFF)
        if value <= 1 or value >> 120 == 0xFF:  # ::, ::1, multicast
            return value
        if upper not in (0, LINK_LOCAL):
            upper = self._network(upper, 64, _kept(value, 128, V6_KEPT, 3))
        return upper << 64 | self.guid(lower)

    def digits(self, value: int) -> int:
        """A number of 128 bits that means nothing, such as a UUID; zero stays."""
        return self._hash(128, "digits", value) if value else 0

    def word(self, kind: str, text: str) -> str:
        """A word for a name: kind-1a2b3c4d."""
        return f"{kind}-{self._hash(32, kind, text.lower()):08x}"

    def _hash(self, bits: int, *parts: object) -> int:
        text = "\0".join(map(str, parts)).encode("utf-8", "replace")
        digest = hashlib.blake2b(text, digest_size=16, key=self._key).digest()
        return int.from_bytes(digest, "big") >> (128 - bits)

    def _scrambled(self, value: int, bits: int) -> int:
        """The low `bits` permuted (a Feistel network), in a way of its own for each value of those above."""
        half, above = bits // 2, value >> bits
        left, right = value >> half & ((1 << half) - 1), value & ((1 << half) - 1)
        for number in range(ROUNDS):
            left, right = right, left ^ self._hash(half, "round", bits, above, number, right)
        return above << bits | left << half | right

    def _network(self, value: int, bits: int, kept: int) -> int:
        """Two values that agree in their first n bits still do, for each n; the first `kept` bits stay."""
        result = value >> (bits - kept)
        for place in range(kept, bits):
            bit = value >> (bits - 1 - place) & 1
            result = result << 1 | bit ^ self._hash(1, "bit", bits, place, value >> (bits - place))
        return result


def _kept(value: int, bits: int, ranges: tuple[tuple[int, int], ...], otherwise: int) -> int:
    """How many leading bits say of which kind an address is."""
    return next((length for start, length in ranges if (value ^ start) >> (bits - length) == 0), otherwise)
