# SPDX-License-Identifier: Apache-2.0
"""From the pasted outputs of one host to the capture that the machine would have given, as far as they say it.

What they do not say is absent, with them as the reason, so that every finding about it is UNKNOWN.
"""

from typing import Any

from railgauge.topo.facts.capture import SCHEMA, Capture
from railgauge.topo.facts.described.files import Files
from railgauge.topo.facts.pasted import gpu_models, nvlinks
from railgauge.topo.facts.pasted.devices import gpu_functions, identify
from railgauge.topo.facts.pasted.host import PastedFunction, PastedHost
from railgauge.topo.facts.pasted.nic_files import interface_facts, nic_files, verbs_facts
from railgauge.topo.facts.pasted.placement import assumed_bus_id, is_gpu, place
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS as INFINIBAND
from railgauge.topo.facts.sources.sysfs_numa import NODES
from railgauge.topo.values.busid import ASSUMED, is_bus_id
from railgauge.topo.values.cpuset import from_list, to_mask

BUS = "/sys/bus/pci"
LEFT_OUT = {
    "nvml": "NVML",
    "cuda": "CUDA",
    "verbs": "libibverbs",
    "interfaces": "addresses of network interfaces",
    "pci_config": "PCI configuration spaces",
    "gpu_health": "GPU health",
    "interface_statistics": "statistics of interfaces",
    "kernel_log": "kernel log",
    "shared_memory": "/dev/shm",
    "fabric_manager": "fabric manager",
    "gpu_nodes": "GPUs given to the process",
}
"""The facts that can say why they are missing, in words."""
NOWHERE = "unplaced"
WHOLE, HEADER = 4096, 64
"""Bytes of a configuration space that root and others read."""


def build(host: PastedHost) -> Capture:
    """The capture. Its manifest has the outputs by name (pasted) and what was assumed as sentences (assumed)."""
    identify(host)
    files = Files()
    for path, text in host.files.items():
        files.text(path, text)
    _plant(host)
    _numa_files(host, files)
    paths = _pci_files(host, files)
    nic_files(host, paths, files)
    facts = {**_gpu_facts(host), **verbs_facts(host), **interface_facts(host), **_config_facts(host)}
    if host.kernel_log is not None:
        facts["kernel_log"] = host.kernel_log
    tools = ", ".join(host.tools)
    missing = {name: {"error": f"{what}: not in the output of {tools}"} for name, what in LEFT_OUT.items()}
    manifest = {
        "schema": SCHEMA,
        "host": host.files.get("/proc/sys/kernel/hostname", ""),
        "pasted": host.tools,
        "assumed": list(dict.fromkeys(host.assumed)),
        "absent": [f"{INFINIBAND}/{name}" for name, device in host.rdma.items() if device.gone],
    }
    return Capture(manifest=manifest, texts=files.texts, links=files.links, facts={**missing, **facts})


def _plant(host: PastedHost) -> None:
    """PCI functions for the devices of a matrix that no other output places."""
    if host.matrix is None:
        return
    named = {column: host.matrix.nics.get(column, column) for column in host.matrix.columns if not is_gpu(column)}
    known: dict[str, str | None] = {f"GPU{index}": gpu.get("pci") for index, gpu in host.gpus.items()}
    known |= {column: host.rdma[name].bus_id for column, name in named.items() if name in host.rdma}
    bus_ids = {column: bus_id for column, bus_id in known.items() if bus_id and is_bus_id(bus_id)}
    placed = {bus_id for bus_id in bus_ids.values() if _has_place(host, bus_id)}
    planted = [one for one in place(host.matrix, bus_ids) if one.way[-1] not in placed]
    for one in planted:
        for above, bus_id in zip(("", *one.way), one.way, strict=False):
            function = host.function(bus_id)
            function.above, function.root_bus, function.numa = above, "" if above else one.root, one.numa
            function.pci_class = function.pci_class or "0x060400"
        function = host.function(one.way[-1])
        function.pci_class = {"0x060400": "0x030200" if is_gpu(one.device) else "0x028000"}.get(
            function.pci_class or "", function.pci_class
        )
        if is_gpu(one.device):
            function.vendor = "0x10de"
            host.gpu(int(one.device[3:])).setdefault("pci", one.way[-1])
        else:
            host.device(named[one.device]).bus_id = one.way[-1]
    if planted:
        host.assumed.append(
            f"nvidia-smi topo -m has no bus ids: devices of PCI domain {ASSUMED} and bridges above them are assumed, "
            "as its letters need them"
        )
    if not all(one.known_numa for one in planted):
        host.assumed.append("nvidia-smi topo -m does not number every NUMA node: numbers are assumed")
    _matrix_numa(host)
    _add_cut_off(host)


def _add_cut_off(host: PastedHost) -> None:
    """The GPUs of a matrix whose rows were cut off: links of others go to them."""
    columns = [name for name in host.matrix.columns if is_gpu(name)] if host.matrix else []
    missing = [name for name in columns if host.gpu(int(name[3:])).get("pci") not in host.functions]
    for name in missing:
        gpu = host.gpu(int(name[3:]))
        function = host.function(gpu.setdefault("pci", assumed_bus_id(name, [])))
        function.pci_class, function.vendor = function.pci_class or "0x030200", function.vendor or "0x10de"
    if missing and len(missing) < len(columns):
        host.assumed.append(
            f"nvidia-smi topo -m has no whole row of {', '.join(missing)}: only what other rows say of them"
        )


def _has_place(host: PastedHost, bus_id: str) -> bool:
    return bus_id in host.functions and host.functions[bus_id].above is not None


def _matrix_numa(host: PastedHost) -> None:
    """NUMA nodes with the cores that the rows of GPUs have."""
    for index, gpu in host.gpus.items() if host.matrix else ():
        cpus, numa, memory = host.matrix.affinities.get(f"GPU{index}", ("", "", "")) if host.matrix else ("", "", "")
        function = host.functions.get(str(gpu.get("pci")))
        if function and function.numa is not None and (numa or cpus):
            try:
                from_list(cpus)
            except ValueError:
                continue
            if not host.numa.get(function.numa):
                host.numa[function.numa] = cpus
        if memory.isdecimal():
            gpu.setdefault("numa", int(memory))


def _numa_files(host: PastedHost, files: Files) -> None:
    cores = {node: from_list(text) for node, text in host.numa.items()}
    size = max((cpus[-1] for cpus in cores.values() if cpus), default=0) + 1
    for node, cpus in cores.items():
        if cpus:
            files.folder(f"{NODES}/node{node}", {"cpulist": host.numa[node], "cpumap": to_mask(cpus, size)})


def _pci_files(host: PastedHost, files: Files) -> dict[str, str]:
    """Every function below /sys/devices; the paths by bus id. One without a place is below no host bridge."""
    paths: dict[str, str] = {}
    for function in host.functions.values():
        if is_bus_id(function.bus_id):
            _pci_function(function, _path(host, function.bus_id, paths), files)
    return paths


def _path(host: PastedHost, bus_id: str, paths: dict[str, str], depth: int = 0) -> str:
    if bus_id not in paths:
        function = host.functions.get(bus_id)
        above = function.above if function and depth < 64 else None
        root = f"pci{(function.root_bus if function else '') or bus_id[:7]}" if above is not None else NOWHERE
        folder = _path(host, above, paths, depth + 1) if above else f"/sys/devices/{root}"
        paths[bus_id] = f"{folder}/{bus_id}"
    return paths[bus_id]


def _pci_function(function: PastedFunction, path: str, files: Files) -> None:
    files.folder(
        path,
        {
            "class": function.pci_class,
            "vendor": function.vendor,
            "device": function.device,
            "subsystem_vendor": function.subsystem_vendor,
            "subsystem_device": function.subsystem_device,
            "numa_node": None if function.numa is None else str(function.numa),
            **_link("max", *function.most),
            **_link("current", *function.now),
        },
    )
    files.link(f"{BUS}/devices/{function.bus_id}", path)
    files.link(f"{path}/subsystem", BUS)
    if function.driver:
        files.link(f"{path}/driver", f"{BUS}/drivers/{function.driver}")
        files.text(f"{BUS}/drivers/{function.driver}/.seen", "")


def _link(which: str, gt_per_s: float | None, lanes: int | None) -> dict[str, str | None]:
    return {
        f"{which}_link_speed": f"{gt_per_s:.1f} GT/s PCIe" if gt_per_s else None,
        f"{which}_link_width": str(lanes) if lanes else None,
    }


def _gpu_facts(host: PastedHost) -> dict[str, dict[str, Any]]:
    """facts/nvml.json where nvidia-smi was pasted; else the GPUs of the PCI functions as CUDA lists them."""
    if not host.gpus:
        return _listed_gpus(host)
    for index, gpu in host.gpus.items():
        if not gpu.get("pci"):
            gpu["pci"] = assumed_bus_id(f"GPU{index}", [])
            host.assumed.append(f"bus ids of GPUs are not said: those of domain {ASSUMED} are assumed")
    unnamed = [gpu for gpu in host.gpus.values() if not gpu.get("cc") and not _capability(host, gpu)]
    capability = nvlinks.assumed_capability(host)
    if unnamed:
        most = nvlinks.most_nvlinks(host)
        host.assumed.append(
            f"the model of GPUs is not said: compute capability {capability[0]}.{capability[1]} is assumed, "
            f"{f'as GPUs with {most} NVLinks have' if most else 'for want of NVLinks'}"
        )
    for gpu in host.gpus.values():
        gpu["cc"] = gpu.get("cc") or _capability(host, gpu) or capability
    if not nvlinks.answer(host):
        host.assumed.append("NVLinks are not said: GPUs are shown without")
    for (one, other), pair in host.p2p.items():
        if one in host.gpus and other in host.gpus:
            row = host.gpus[one].setdefault("p2p", [None] * (max(host.gpus) + 1))
            row[other] = pair
    gpus = [gpu for _, gpu in sorted(host.gpus.items())]
    facts: dict[str, dict[str, Any]] = {"nvml": {"driver": host.driver, "cuda": host.cuda, "gpus": gpus}}
    if host.health:
        named = [{"index": index, "pci": host.gpus[index]["pci"], **one} for index, one in sorted(host.health.items())]
        facts["gpu_health"] = {"gpus": named, "reasons": {}}
    return facts


def _capability(host: PastedHost, gpu: dict[str, Any]) -> list[int] | None:
    """By the name, else by the PCI function."""
    function = host.functions.get(str(gpu.get("pci")))
    found = gpu_models.of_product(gpu.get("name")) or (_of_function(function) if function else None)
    return list(found) if found else None


def _of_function(function: PastedFunction) -> tuple[int, int] | None:
    return (
        gpu_models.of_chip(function.name) or gpu_models.of_product(function.name) or gpu_models.of_id(function.device)
    )


def _listed_gpus(host: PastedHost) -> dict[str, dict[str, Any]]:
    assumed = nvlinks.assumed_capability(host)
    found = [(one, _of_function(one)) for one in gpu_functions(host)]
    if unnamed := [one.bus_id for one, cc in found if not cc]:
        host.assumed.append(f"models of GPUs are not known: {', '.join(unnamed)}: as {assumed[0]}.{assumed[1]} assumed")
    gpus = [{"pci": one.bus_id, "name": one.name or None, "cc": list(cc or assumed)} for one, cc in found]
    return {"cuda": {"gpus": gpus, "gpu_direct_rdma": {}, "dma_buf": {}}} if gpus else {}


def _config_facts(host: PastedHost) -> dict[str, dict[str, Any]]:
    """facts/pci_config.json of `lspci -vvv`: root's where any function shows extended capabilities."""
    listed = [one for one in host.functions.values() if one.in_lspci]
    whole = any(one.whole_config or one.acs is not None for one in listed)
    read = [one for one in listed if whole or one.port is not None]
    size = WHOLE if whole else HEADER
    functions = {
        one.bus_id: {
            "size": size,
            "port": one.port,
            "acs": one.acs,
            "relaxed_ordering": None if one.relaxed_ordering is None else int(one.relaxed_ordering),
        }
        for one in read
    }
    return {"pci_config": {"functions": functions}} if functions else {}
