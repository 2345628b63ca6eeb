# SPDX-License-Identifier: Apache-2.0
"""Where PCI devices stand in /sys/bus/pci/devices: their paths, the switch above each, and which are GPUs.

NCCL's functions: `getPciPath`, `ncclTopoGetXmlFromSys` (src/graph/xml.cc). What a device is, is pci_functions.py's.
"""

from railgauge.topo.facts.reader import Reader
from railgauge.topo.values.busid import is_bus_id
from railgauge.topo.values.pci_class import DISPLAY

DEVICES = "/sys/bus/pci/devices"
REAL = "/sys/devices/"  # where every folder of a class leads, as a link
DRIVER_GPUS = "/proc/driver/nvidia/gpus"  # one folder for each GPU that NVIDIA's driver holds
NVIDIA = "0x10de"
SWITCH_LINKS = "/sys/kernel/pci_switch_link/virtual_switch_links"  # Broadcom's driver: peers of a split switch
BROADCOM = "0x1000"
PATH_MAX = 4096  # linux/limits.h; a capture could claim more


def device_path(reader: Reader, bus_id: str) -> str | None:
    """The device's real path in sysfs, /sys/devices/pci0000:00/...; None when it is not there."""
    path = reader.realpath(f"{DEVICES}/{bus_id.lower()}") if "/" not in bus_id else None
    return path if path is not None and len(path) < PATH_MAX else None


def is_placed(reader: Reader, folder: str) -> bool:
    """Whether a folder of a class shows the device behind it; trees without the kernel's links do not."""
    return (reader.realpath(folder) or REAL).startswith(REAL) or reader.realpath(f"{folder}/device") is not None


def pci_function(reader: Reader, path: str | None, *, placed: bool) -> tuple[str | None, str | None]:
    """The bus id of the PCI function at a real path in sysfs; without one None and what is there instead.

    `placed` (see `is_placed`): False if the device is unknown, rather than missing.
    """
    if path is None:
        return None, "no device" if placed else "device not recorded"
    subsystem = (reader.realpath(f"{path}/subsystem") or "").rpartition("/")[2]
    if subsystem != "pci":
        return None, f"{path} is not a PCI device ({subsystem or 'unknown'})"
    return path.rpartition("/")[2], None


def upper_switch(path: str) -> str | None:
    """The path of the switch above a device, None below a CPU root.

    A switch is two bridges in sysfs, so the way up is two path elements; NCCL names the switch by its upstream port.
    """
    parts = path.split("/")
    if len(parts) < 3 or not is_bus_id(parts[-2]) or not is_bus_id(parts[-3]):
        return None
    return "/".join(parts[:-2])


def switch_peers(reader: Reader, bus_id: str) -> tuple[str, ...]:
    """Bus ids of the Broadcom switches linked to this one (NCCL's `getBcmLinks`)."""
    names = reader.entries(f"{SWITCH_LINKS}/{bus_id.lower()}")
    return tuple(name for name in names if is_bus_id(name) and device_path(reader, name))


def gpu_bus_ids(reader: Reader) -> tuple[str, ...]:
    """Bus ids of NVIDIA's GPUs without asking NVML: its display devices in sysfs, and what its driver lists."""
    display = (
        name
        for name in reader.entries(DEVICES)
        if reader.text(f"{DEVICES}/{name}/vendor") == NVIDIA
        and (reader.text(f"{DEVICES}/{name}/class") or "").startswith(DISPLAY)
    )
    return tuple(sorted({*display, *filter(is_bus_id, reader.entries(DRIVER_GPUS))}))
