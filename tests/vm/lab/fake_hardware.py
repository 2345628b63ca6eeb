# SPDX-License-Identifier: Apache-2.0
"""PCI functions with any ids, class and link for a QEMU guest, served by this process.

QEMU's x-pci-proxy-dev forwards each access of the guest to configuration space over a socket (the multi-process
protocol of QEMU 7.2, include/hw/remote/mpqemu-link.h). A thread answers from 256 bytes that hold ids, one memory BAR
and a PCI Express capability with the wanted link (PCI Express Base Specification, 7.5). There is nothing behind the
BAR: reads give 0, which is all that a scanner of sysfs needs. QEMU wants shared memory for this device to start.
"""

import array
import contextlib
import os
import socket
import struct
import threading

from tests.vm.lab.board import FakeDevice

SYNC_MEMORY, RETURN, WRITE_CONFIG, READ_CONFIG, SET_INTERRUPT = 0, 1, 2, 3, 6  # enum MPQemuCmd
HEADER = struct.Struct("<i4xQ")  # command, bytes that follow
ACCESS = struct.Struct("<IIi")  # address, value, length
ANSWER = struct.Struct("<i4xQQ")
CONFIG_BYTES = 256
CAPABILITY = 0x60  # where the PCI Express capability stands
BAR_BYTES = 16 << 20
SPEED_CODES = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}
MAX_DESCRIPTORS = 8


def config_space(part: FakeDevice) -> bytearray:
    """The 256 bytes of a function's configuration space as after a reset."""
    identity, link, space = part.identity, part.link, bytearray(CONFIG_BYTES)
    struct.pack_into("<HH", space, 0x00, int(identity.vendor, 16), int(identity.device, 16))
    space[0x06] = 0x10  # status: there is a list of capabilities
    space[0x09:0x0C] = int(identity.pci_class, 16).to_bytes(3, "little")
    struct.pack_into("<HH", space, 0x2C, int(identity.subsystem_vendor, 16), int(identity.subsystem_device, 16))
    space[0x34] = CAPABILITY
    now, most = SPEED_CODES[link.gt_per_s or 2.5], SPEED_CODES[link.max_gt_per_s or 2.5]
    struct.pack_into("<BBH", space, CAPABILITY, 0x10, 0, 0x0002)  # PCI Express, version 2, an endpoint
    struct.pack_into("<I", space, CAPABILITY + 0x04, 1 << 15)  # device capabilities: error reporting by role
    struct.pack_into("<I", space, CAPABILITY + 0x0C, most | link.max_width << 4)  # link capabilities
    struct.pack_into("<H", space, CAPABILITY + 0x12, now | link.width << 4)  # link status
    struct.pack_into("<I", space, CAPABILITY + 0x2C, (1 << (most + 1)) - 2)  # speeds supported
    struct.pack_into("<H", space, CAPABILITY + 0x30, most)  # link control 2: target speed
    return space


def writable_bits() -> bytes:
    """Which bits of configuration space the guest may change."""
    mask = bytearray(CONFIG_BYTES)
    struct.pack_into("<H", mask, 0x04, 0x0546)  # command: memory, bus master, parity, SERR, interrupts off
    struct.pack_into("<I", mask, 0x10, ~(BAR_BYTES - 1) & 0xFFFFFFF0)
    mask[0x0C] = mask[0x3C] = 0xFF  # cache line size, interrupt line
    return bytes(mask)


class FakeFunction:
    """Answers for one function until QEMU ends; `theirs` is the socket that QEMU has to inherit."""

    def __init__(self, part: FakeDevice) -> None:
        self._config = config_space(part)
        self._mask = writable_bits()
        self._ours, self.theirs = socket.socketpair()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with self._ours, contextlib.suppress(ConnectionError):
            while head := self._receive(HEADER.size):
                command, size = HEADER.unpack(head)
                body = self._receive(size) if size else b""
                if command not in (SYNC_MEMORY, SET_INTERRUPT):  # for these no answer is awaited
                    self._ours.sendall(ANSWER.pack(RETURN, 8, self._answer(command, body)))

    def _answer(self, command: int, body: bytes) -> int:
        if command not in (READ_CONFIG, WRITE_CONFIG):
            return 0
        address, value, length = ACCESS.unpack(body)
        if address + length > CONFIG_BYTES:
            return 0xFFFFFFFF
        if command == READ_CONFIG:
            return int.from_bytes(self._config[address : address + length], "little")
        self._write(address, value.to_bytes(4, "little")[:length])
        return 0

    def _write(self, address: int, data: bytes) -> None:
        for place, byte in enumerate(data, address):
            mask = self._mask[place]
            self._config[place] = self._config[place] & ~mask & 0xFF | byte & mask

    def _receive(self, size: int) -> bytes:
        """That many bytes, nothing when QEMU is gone; descriptors of memory and interrupts are let go."""
        data = b""
        while len(data) < size:
            part, extra, *_ = self._ours.recvmsg(size - len(data), socket.CMSG_SPACE(MAX_DESCRIPTORS * 4))
            for _level, _kind, raw in extra:
                for descriptor in array.array("i", raw[: len(raw) // 4 * 4]):
                    os.close(descriptor)
            if not part:
                return b""
            data += part
        return data
