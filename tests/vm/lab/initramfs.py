# SPDX-License-Identifier: Apache-2.0
"""A folder as an initramfs: the cpio format "newc" (Linux: Documentation/driver-api/early-userspace), uncompressed."""

from pathlib import Path

TRAILER = "TRAILER!!!"


def pack(folder: Path) -> bytes:
    """The folders and files below, with their modes; links are followed, owners are root."""
    archive = bytearray()
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        archive += _entry(str(path.relative_to(folder)), path.stat().st_mode, data)
    return bytes(archive + _entry(TRAILER, 0, b""))


def _entry(name: str, mode: int, data: bytes) -> bytes:
    raw = name.encode() + b"\0"
    # inode, mode, uid, gid, links, mtime, size, device (2), special device (2), length of the name, checksum
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
    return _aligned(b"070701" + b"".join(b"%08X" % field for field in fields) + raw) + _aligned(data)


def _aligned(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
