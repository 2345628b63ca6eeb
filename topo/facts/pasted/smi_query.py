# SPDX-License-Identifier: Apache-2.0
"""`nvidia-smi -q`, whole or a part of it: GPUs in NVML's order, their links, fabric, errors, clocks and power.

Its text is a tree by indentation; a value stands after " : ". A part that begins below a GPU's line is of one GPU.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from railgauge.topo.facts.pasted import gpu_models
from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.values.busid import from_nvml, is_bus_id

GPU = re.compile(r"GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
LINE = re.compile(r"( *)(\S.{0,60}?)(?:\s+: ?(.*))?$")
NO_VALUE = (
    "",
    "N/A",
    "[N/A]",
    "None",
    "Unknown Error",
    "[Not Supported]",
    "Requested functionality has been deprecated",
)
COMPUTE_MODES = {"Default": 0, "Exclusive_Thread": 1, "Prohibited": 2, "Exclusive_Process": 3}
"""As NVML numbers them."""
FABRIC_STATES = {"Not Supported": 0, "Not Started": 1, "In Progress": 2, "Completed": 3}
GENERATIONS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}  # PCIe generation: GT/s
REASONS = {
    "Idle": 0x1,
    "Applications Clocks Setting": 0x2,
    "SW Power Cap": 0x4,
    "HW Slowdown": 0x8,
    "Sync Boost": 0x10,
    "SW Thermal Slowdown": 0x20,
    "HW Thermal Slowdown": 0x40,
    "HW Power Brake Slowdown": 0x80,
    "Display Clock Setting": 0x100,
}
"""nvmlClocksEventReasons by nvidia-smi's words; "Active" is one of them at work."""
BANKS = {"Max": "max", "High": "high", "Partial": "partial", "Low": "low", "None": "none"}
FABRIC_HEALTH = ("Bandwidth", "Route Recovery in progress", "Route Unhealthy", "Access Timeout Recovery")
BAD = ("Degraded", "True", "Yes")
OF_A_GPU = {"Fabric/State", "PCI/Bus Id", "GPU UUID", "FB Memory Usage/Total", "Remapped Rows/Pending"} | {
    f"Clocks {word} Reasons/Idle" for word in ("Event", "Throttle")
}
"""Lines of nothing else: one makes a text without a GPU's line a part of one GPU's."""
Fields = Mapping[str, str]
"""Values by their way down, "PCI/Bus Id"."""


def read(text: str, host: PastedHost) -> str:
    """Add the GPUs; "" if the text has none."""
    system, gpus = _parsed(text)
    for index, (bus_id, fields) in enumerate(gpus):
        _gpu(host, index, bus_id, fields)
    if gpus:
        host.driver = _value(system, "Driver Version") or host.driver
        if cuda := re.fullmatch(r"(\d{1,2})\.(\d)", _value(system, "CUDA Version") or ""):
            host.cuda = int(cuda[1]) * 1000 + int(cuda[2]) * 10
    return "nvidia-smi -q" if gpus else ""


def _parsed(text: str) -> tuple[dict[str, str], list[tuple[str | None, dict[str, str]]]]:
    """The values before the first GPU, and those of each GPU with its bus id; None for a part without its line."""
    gpus: list[tuple[str | None, dict[str, str]]] = []
    system: dict[str, str] = {}
    fields, way = system, list[tuple[int, str]]()
    for line in text.expandtabs(4).splitlines():
        if start := GPU.match(line.strip()):
            fields, way = {}, []
            gpus.append((from_nvml(start[1]), fields))
            continue
        found = LINE.match(line.rstrip())
        if not found:
            continue
        depth, key, value = len(found[1]), found[2], found[3]
        while way and way[-1][0] >= depth:
            way.pop()
        if value is None:
            way.append((depth, key))
        else:
            fields["/".join([*(name for _, name in way), key])] = value.strip()
    if not gpus:
        gpus = [(None, dict(system))] if OF_A_GPU & system.keys() else []
    return system, gpus


def _value(fields: Fields, *names: str) -> str | None:
    """The first of some values that is one."""
    return next((fields[name] for name in names if fields.get(name, "") not in NO_VALUE), None)


def _number(fields: Fields, *names: str, scale: float = 1) -> int | None:
    found = re.match(r"-?\d{1,15}(?:\.\d{1,6})?", _value(fields, *names) or "")
    return round(float(found[0]) * scale) if found else None


def _gpu(host: PastedHost, index: int, bus_id: str | None, fields: Fields) -> None:
    gpu = host.gpu(index)
    name = _value(fields, "Product Name")
    found = {
        "pci": bus_id or from_nvml(_value(fields, "PCI/Bus Id") or "") or None,
        "name": name,
        "uuid": _value(fields, "GPU UUID"),
        "vbios": _value(fields, "VBIOS Version"),
        "cc": gpu_models.of_product(name) or gpu_models.of_architecture(_value(fields, "Product Architecture")),
        "mig": {"Enabled": 1, "Disabled": 0}.get(fields.get("MIG Mode/Current", "")),
        "fabric": _fabric(fields),
        "bar1_bytes": _number(fields, "BAR1 Memory Usage/Total", scale=1 << 20),
    }
    gpu.update({key: list(one) if isinstance(one, tuple) else one for key, one in found.items() if one is not None})
    if is_bus_id(str(gpu.get("pci"))):
        _function(host, str(gpu["pci"]), fields)
    health = _health(fields)
    if any(key != "reasons" and one not in (None, {}, []) for key, one in health.items()):
        host.health[index] = health


def _function(host: PastedHost, bus_id: str, fields: Fields) -> None:
    """The GPU as a PCI function. Its end of the link: speed and width now and at most, which the host may limit."""
    function = host.function(bus_id)
    function.pci_class, function.vendor = function.pci_class or "0x030200", "0x10de"
    if ids := re.fullmatch(r"0x([0-9A-Fa-f]{4})10DE", _value(fields, "PCI/Device Id") or ""):
        function.device = f"0x{ids[1].lower()}"
    if ids := re.fullmatch(r"0x([0-9A-Fa-f]{4})([0-9A-Fa-f]{4})", _value(fields, "PCI/Sub System Id") or ""):
        function.subsystem_device, function.subsystem_vendor = (f"0x{one.lower()}" for one in ids.groups())
    link = "PCI/GPU Link Info"
    speeds = [GENERATIONS.get(_number(fields, f"{link}/PCIe Generation/{which}") or 0) for which in ("Current", "Max")]
    widths = [_number(fields, f"{link}/Link Width/{which}") for which in ("Current", "Max")]
    function.now = speeds[0] or function.now[0], widths[0] or function.now[1]
    function.most = speeds[1] or function.most[0], widths[1] or function.most[1]


def _fabric(fields: Fields) -> dict[str, Any] | None:
    state = FABRIC_STATES.get(fields.get("Fabric/State", ""))
    if state is None:
        return None
    status = fields.get("Fabric/Status", "")
    ills = [fields.get(f"Fabric/Health/{name}") for name in FABRIC_HEALTH]
    words = [1 if ill in BAD else 2 if ill not in (None, "N/A") else 0 for ill in ills]
    return {
        "state": state,
        "status": 0 if status == "Success" else None if status in ("", "N/A") else 999,  # NVML_ERROR_UNKNOWN
        "clique": _number(fields, "Fabric/CliqueId"),
        "cluster": (_value(fields, "Fabric/ClusterUUID") or "").replace("-", "") or None,
        "health": sum(word << 2 * bit for bit, word in enumerate(words)) if any(words) else None,
    }


def _health(fields: Fields) -> dict[str, Any]:
    """NVML's answers about health in the shape of a capture's; what the text has not is None or left out."""
    flags: Callable[[str], int | None] = lambda name: {"Yes": 1, "No": 0}.get(fields.get(name, ""))  # noqa: E731
    reasons = ("Clocks Event Reasons", "Clocks Throttle Reasons")
    known = [fields.get(f"{group}/{name}") for group in reasons for name in REASONS]
    mode = {"Enabled": 1, "Disabled": 0}
    modes = [
        mode.get(fields.get(f"{where}/{when}", ""))
        for where in ("ECC Mode", "Ecc Mode")
        for when in ("Current", "Pending")
    ]
    ecc_mode = next((pair for pair in (modes[:2], modes[2:]) if None not in pair), None)
    rows = {
        "corrected": _number(fields, "Remapped Rows/Correctable Error"),
        "uncorrected": _number(fields, "Remapped Rows/Uncorrectable Error"),
        "pending": flags("Remapped Rows/Pending"),
        "failed": flags("Remapped Rows/Remapping Failure Occurred"),
    }
    banks = {
        key: _number(fields, f"Remapped Rows/Bank Remap Availability Histogram/{word}") for word, key in BANKS.items()
    }
    clocks = {
        "sm": _number(fields, "Clocks/SM"),
        "memory": _number(fields, "Clocks/Memory"),
        "sm_max": _number(fields, "Max Clocks/SM"),
        "memory_max": _number(fields, "Max Clocks/Memory"),
    }
    power = ("GPU Power Readings", "Power Readings", "Module Power Readings")
    return {
        "ecc_mode": ecc_mode,
        "ecc": _ecc(fields),
        "sram_threshold": flags("ECC Errors/Aggregate/SRAM Threshold Exceeded"),
        "remapped_rows": _without_none(**rows)
        if None not in rows.values() or rows["pending"] or rows["failed"]
        else None,
        "remap_banks": banks if None not in banks.values() else None,
        "retired_pages": _without_none(
            single_bit=_number(fields, "Retired Pages/Single Bit ECC"),
            double_bit=_number(fields, "Retired Pages/Double Bit ECC"),
            pending=flags("Retired Pages/Pending Page Blacklist"),
        ),
        "pcie_replays": _number(fields, "PCI/Replays Since Reset"),
        "clock_reasons": None
        if not any(known)
        else sum(
            bit for group in reasons for name, bit in REASONS.items() if fields.get(f"{group}/{name}") == "Active"
        ),
        "clocks_mhz": _without_none(**clocks),
        "power_mw": _without_none(
            limit=_number(
                fields,
                *(f"{one}/Current Power Limit" for one in power),
                *(f"{one}/Power Limit" for one in power),
                scale=1000,
            ),
            default=_number(fields, *(f"{one}/Default Power Limit" for one in power), scale=1000),
            enforced=_number(fields, *(f"{one}/Enforced Power Limit" for one in power), scale=1000),
            draw=_number(
                fields,
                *(f"{one}/Instantaneous Power Draw" for one in power),
                *(f"{one}/Power Draw" for one in power),
                scale=1000,
            ),
        ),
        "pstate": _number({"state": fields.get("Performance State", "").removeprefix("P")}, "state"),
        "temperature_c": _number(fields, "Temperature/GPU Current Temp"),
        "persistence": mode.get(fields.get("Persistence Mode", "")),
        "compute_mode": COMPUTE_MODES.get(fields.get("Compute Mode", "")),
        "recovery_action": {"None": 0, "Reset": 1, "Reboot": 2, "Drain P2P": 3, "Drain and Reset": 4}.get(
            fields.get("GPU Recovery Action", "")
        ),
        "reasons": {},
    }


def _ecc(fields: Fields) -> dict[str, int]:
    """Counts as dram_corrected_volatile; uncorrected ones of SRAM stand by their code from Hopper on."""
    found: dict[str, int | None] = {}
    for span in ("Volatile", "Aggregate"):
        for memory in ("DRAM", "SRAM"):
            where = f"ECC Errors/{span}/{memory}"
            parts = [_number(fields, f"{where} Uncorrectable {code}") for code in ("Parity", "SEC-DED")]
            uncorrected = sum(part or 0 for part in parts) if any(part is not None for part in parts) else None
            kind = f"{memory.lower()}_{{}}_{span.lower()}"
            found[kind.format("corrected")] = _number(fields, f"{where} Correctable")
            found[kind.format("uncorrected")] = (
                _number(fields, f"{where} Uncorrectable") if uncorrected is None else uncorrected
            )
    return _without_none(**found)


def _without_none(**values: int | None) -> dict[str, int]:
    return {key: value for key, value in values.items() if value is not None}
