# SPDX-License-Identifier: Apache-2.0
"""RDMA devices as reported by libibverbs: order, limits, MTU, DMA-BUF; what sysfs does not have.

It is asked in a child process: through pyverbs (verbs_child.py) with this interpreter if it has that, then with the
system's own, which alone sees a distribution's pyverbs; without pyverbs directly (libibverbs_child.py). Nothing here is
needed: where no way works all of it is None, with the reasons.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from railgauge.topo.facts.reader import Facts, Reader
from railgauge.topo.facts.sources.child import ask, python

TIMEOUT_S = 20.0
CHILD = os.path.join(os.path.dirname(os.path.realpath(__file__)), "verbs_child.py")
MTU_BYTES = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}  # enum ibv_mtu


class VerbsPort(NamedTuple):
    """One port: MTUs in bytes."""

    number: int
    max_mtu: int | None = None
    active_mtu: int | None = None


class VerbsDevice(NamedTuple):
    """One device. dma_buf: whether it registers DMA-BUF. error: why it could not be opened.

    Each is None where the question failed.
    """

    name: str
    error: str | None = None
    vendor_id: int | None = None
    vendor_part_id: int | None = None
    max_qp: int | None = None
    dma_buf: bool | None = None
    ports: tuple[VerbsPort, ...] = ()

    def port(self, number: int) -> VerbsPort:
        """The port of that number; its facts are None if it was not reported."""
        return next((port for port in self.ports if port.number == number), VerbsPort(number=number))


class Verbs(NamedTuple):
    """All devices, in the order of `ibv_get_device_list`, and why there are none."""

    devices: tuple[VerbsDevice, ...] = ()
    reason: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The devices' names in their order."""
        return tuple(device.name for device in self.devices)

    def device(self, name: str) -> VerbsDevice:
        """The device of that name; its facts are None if it was not reported."""
        return next((device for device in self.devices if device.name == name), VerbsDevice(name=name))


def live_verbs(commands: Sequence[Sequence[str]] | None = None, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    """The raw answers of the first command that has some: {"asked": command, "devices": [...]}, else {"error": why}.

    By default the commands are those of this machine. The time is that of all together: a device that hangs would hang
    the next one as well.
    """
    errors: list[str] = []
    deadline = time.monotonic() + timeout_s
    for command in commands or _commands():
        left = deadline - time.monotonic()
        if left <= 0:
            break
        answer = ask(command, "verbs", round(left, 1))
        if "error" not in answer:
            return {"asked": " ".join(command), **answer}
        errors.append(f"{command[0]}: {answer['error']}")
    return {"error": "; ".join(errors)}


def _commands() -> list[Sequence[str]]:
    """An interpreter without pyverbs is not started to find that out."""
    own = [(sys.executable, "-P", CHILD)] if importlib.util.find_spec("pyverbs") else []
    system = [("/usr/bin/python3", "-I", CHILD)] if os.path.isfile(CHILD) else []  # not in the collector's archive
    return [*own, *system, python("railgauge.topo.facts.sources.libibverbs_child")]


def read_verbs(reader: Reader) -> Verbs:
    """The devices as reported by libibverbs."""
    answer = reader.facts("verbs") or {"error": "libibverbs was not queried"}
    if "error" in answer:
        return Verbs(reason=str(answer["error"]))
    return Verbs(devices=tuple(_device(one) for one in answer.get("devices", ())))


def _device(answer: Facts) -> VerbsDevice:
    dma_buf = answer.get("dma_buf")
    return VerbsDevice(
        name=answer["name"],
        error=answer.get("error"),
        vendor_id=answer.get("vendor_id"),
        vendor_part_id=answer.get("vendor_part_id"),
        max_qp=answer.get("max_qp"),
        dma_buf=None if dma_buf is None else bool(dma_buf),
        ports=tuple(_port(port) for port in answer.get("ports", ())),
    )


def _port(answer: Facts) -> VerbsPort:
    return VerbsPort(
        number=answer["number"],
        max_mtu=MTU_BYTES.get(answer.get("max_mtu") or 0),
        active_mtu=MTU_BYTES.get(answer.get("active_mtu") or 0),
    )
