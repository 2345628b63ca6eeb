# SPDX-License-Identifier: Apache-2.0
"""The schema of the JSON documents of a capture: checks that say where one differs.

A check takes a value and its name and returns the error, None if it is valid. Other keys are allowed.
"""

from collections.abc import Callable, Iterator
from typing import Any

Check = Callable[[Any, str], str | None]
LARGEST = 1 << 63
LONGEST = 8192  # entries of a list: the cores of the largest kernels
MOST_PATHS = 100_000  # as an archive may have members (tar_members.py)


def _kind(one: type) -> Check:
    def check(value: Any, name: str) -> str | None:
        good = isinstance(value, one) and (not isinstance(value, int) or -LARGEST <= value < LARGEST)
        return None if good else f"{name} is {str(value)[:40]!r}, expected {one.__name__}"

    return check


def _list(item: Check, length: int | None = None, most: int = LONGEST) -> Check:
    def check(value: Any, name: str) -> str | None:
        if not isinstance(value, list) or length not in (None, len(value)):
            return f"{name} is {str(value)[:40]!r}, expected a list{f' of {length}' if length is not None else ''}"
        if len(value) > most:
            return f"{name} has {len(value)} entries, at most {most} are read"
        return _first(item(one, f"{name}[{i}]") for i, one in enumerate(value))

    return check


def _map(item: Check) -> Check:
    def check(value: Any, name: str) -> str | None:
        if not isinstance(value, dict):
            return f"{name} is {str(value)[:40]!r}, expected an object"
        return _first(item(one, f"{name}.{key}") for key, one in value.items())

    return check


def _object(needed: tuple[str, ...] = (), **fields: Check) -> Check:
    def check(value: Any, name: str) -> str | None:
        if not isinstance(value, dict):
            return f"{name} is {str(value)[:40]!r}, expected an object"
        lacking = next((key for key in needed if key not in value), None)
        if lacking is not None:
            return f"{name} has no {lacking!r}"
        return _first(item(value[key], f"{name}.{key}") for key, item in fields.items() if key in value)

    return check


def _optional(item: Check) -> Check:
    return lambda value, name: None if value is None else item(value, name)


def _first(answers: Iterator[str | None]) -> str | None:
    return next((answer for answer in answers if answer), None)


INTEGER, TEXT = _kind(int), _kind(str)
READING, NAME = _optional(INTEGER), _optional(TEXT)  # null where it failed
GPU = _object(
    ("index",),
    index=INTEGER,
    pci=NAME,
    uuid=NAME,
    vbios=NAME,
    cc=_optional(_list(INTEGER, 2)),
    name=NAME,
    links=_optional(_list(_object(state=READING, p2p=READING, remote=NAME, version=READING, type=READING))),
    c2c=_optional(_list(_object(status=READING, max_bw=READING))),
    numa=READING,
    mig=READING,
    bar1_bytes=READING,
    fabric=_optional(_object(state=READING, status=READING, clique=READING, cluster=NAME, health=READING)),
    p2p=_optional(_list(_optional(_list(READING, 2)))),
)
CUDA_GPU = _object(("pci",), pci=TEXT, name=NAME, cc=_optional(_list(INTEGER, 2)))
INTERFACE = _object(("name",), name=TEXT, index=INTEGER, addresses=_list(TEXT), flags=READING, prefix=READING)
VERBS_PORT = _object(("number",), number=INTEGER, max_mtu=READING, active_mtu=READING, gid_tbl_len=READING)
VERBS_DEVICE = _object(
    ("name",),
    name=TEXT,
    error=NAME,
    vendor_id=READING,
    vendor_part_id=READING,
    hw_ver=READING,
    max_qp=READING,
    dma_buf=READING,
    ports=_list(VERBS_PORT),
)
PCI_CONFIG = _object(("size",), size=INTEGER, port=READING, acs=READING, relaxed_ordering=READING, serial=NAME)
PORT_ERRORS = _object(("device", "port", "counts"), device=TEXT, port=INTEGER, counts=_map(INTEGER))
SEGMENT = _object(("name", "size_bytes", "age_s"), name=TEXT, size_bytes=INTEGER, age_s=INTEGER, held=READING)
SHARED_MEMORY = _object(size_bytes=INTEGER, free_bytes=INTEGER, segments=_list(SEGMENT), error=TEXT)
KERNEL_EVENT = _object(
    ("source", "device", "code", "kind", "times", "first_s", "last_s", "last_line", "text"),
    source=TEXT,
    device=TEXT,
    code=INTEGER,
    kind=TEXT,
    times=INTEGER,
    first_s=READING,
    last_s=READING,
    last_line=INTEGER,
    text=TEXT,
)
KERNEL_LOG = _object(source=TEXT, lines=INTEGER, events=_list(KERNEL_EVENT), missing=TEXT, error=TEXT)
READINGS = _map(READING)
HEALTH_OF_GPU = _object(
    ("index",),
    index=INTEGER,
    pci=NAME,
    reasons=_map(TEXT),
    ecc_mode=_optional(_list(INTEGER, 2)),
    ecc=READINGS,
    sram_threshold=READING,
    remapped_rows=_optional(READINGS),
    remap_banks=_optional(READINGS),
    retired_pages=READINGS,
    pcie_replays=READING,
    nvlinks=_list(READINGS),
    clock_reasons=READING,
    throttled_ns=READINGS,
    clocks_mhz=READINGS,
    power_mw=READINGS,
    pstate=READING,
    temperature_c=READING,
    persistence=READING,
    compute_mode=READING,
    recovery_action=READING,
)
GPU_HEALTH = _object(
    gpus=_list(HEALTH_OF_GPU), at_ms=READING, confidential=_optional(READINGS), reasons=_map(TEXT), error=TEXT
)
INTERFACE_STATISTICS = _object(
    interfaces=_list(_object(("name", "counts"), name=TEXT, counts=_map(INTEGER))), error=TEXT
)
LIMIT = _optional(_list(INTEGER, 2))
PROCESS = _object(memlock_bytes=LIMIT, open_files=LIMIT, capabilities=READING, seccomp=READING, numa_error=NAME)
DOCUMENTS: dict[str, Check] = {
    "manifest.json": _object(
        host=TEXT,
        problems=_map(TEXT),
        absent=_list(TEXT, most=MOST_PATHS),
        environment=_map(TEXT),
        redacted=NAME,
        pasted=_list(TEXT),
        assumed=_list(TEXT),
    ),
    "facts/nvml.json": _object(driver=NAME, cuda=READING, gpus=_list(GPU), error=TEXT),
    "facts/cuda.json": _object(gpus=_list(CUDA_GPU), gpu_direct_rdma=_map(READING), dma_buf=_map(READING), error=TEXT),
    "facts/verbs.json": _object(asked=NAME, devices=_list(VERBS_DEVICE), error=TEXT),
    "facts/interfaces.json": _object(interfaces=_list(INTERFACE), error=TEXT),
    "facts/affinity.json": _object(cpus=_list(INTEGER)),
    "facts/pci_config.json": _object(functions=_map(PCI_CONFIG), error=TEXT),
    "facts/process.json": PROCESS,
    "facts/fabric_manager.json": _object(release=NAME, error=TEXT),
    "facts/gpu_nodes.json": _object(nodes=_map(INTEGER), error=TEXT),
    "facts/shared_memory.json": SHARED_MEMORY,
    "facts/port_errors_later.json": _object(
        ("ports",), before=_list(PORT_ERRORS), ports=_list(PORT_ERRORS), between_ms=INTEGER
    ),
    "facts/kernel_log.json": KERNEL_LOG,
    "facts/gpu_health.json": GPU_HEALTH,
    "facts/gpu_health_later.json": GPU_HEALTH,
    "facts/interface_statistics.json": INTERFACE_STATISTICS,
    "facts/settings.json": _object(
        environment=_map(TEXT), files=_list(TEXT), folder=TEXT, former=TEXT, overridden=_list(TEXT)
    ),
}
FACTS = tuple(name[len("facts/") : -len(".json")] for name in DOCUMENTS if name.startswith("facts/"))
LATER_FACTS = tuple(name for name in FACTS if name.endswith("_later"))
"""Second readings, which are taken on demand."""


def misfit(document: dict[str, Any], name: str) -> str | None:
    """The error in a document of a capture, None if it is valid."""
    return DOCUMENTS[name](document, name)
