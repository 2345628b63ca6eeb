# SPDX-License-Identifier: Apache-2.0
"""The child process that opens libibverbs itself, where no interpreter has pyverbs; prints what verbs_child.py does.

Run as `python -m railgauge.topo.facts.sources.libibverbs_child`. The calls and structs are those of
infiniband/verbs.h, whose
ABI has kept them since IBVERBS_1.1; `ibv_reg_dmabuf_mr` came with 1.12.
"""

import ctypes
import errno
import json
import os
from typing import Any

LIBRARY = "libibverbs.so.1"
NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.EPROTONOSUPPORT)
DEVICE_LIMITS = ("max_qp", "max_qp_wr", "device_cap_flags", "max_sge", "max_sge_rd", "max_cq", "max_cqe", "max_mr")
DEVICE_KEYS = ("vendor_id", "vendor_part_id", "hw_ver", "phys_port_cnt", "max_mr_size", "atomic_caps", *DEVICE_LIMITS)
PORT_KEYS = ("state", "phys_state", "link_layer", "max_mtu", "active_mtu", "active_width", "active_speed")
TABLE_KEYS = ("max_msg_sz", "gid_tbl_len", "pkey_tbl_len", "port_cap_flags")


class DeviceAttributes(ctypes.Structure):
    """struct ibv_device_attr."""

    _fields_ = [
        ("fw_ver", ctypes.c_char * 64),
        ("node_guid", ctypes.c_uint64),
        ("sys_image_guid", ctypes.c_uint64),
        ("max_mr_size", ctypes.c_uint64),
        ("page_size_cap", ctypes.c_uint64),
        ("vendor_id", ctypes.c_uint32),
        ("vendor_part_id", ctypes.c_uint32),
        ("hw_ver", ctypes.c_uint32),
        *((name, ctypes.c_int) for name in DEVICE_LIMITS),
        ("max_pd", ctypes.c_int),
        ("atomic_limits", ctypes.c_int * 5),
        ("atomic_caps", ctypes.c_int),
        ("limits_of_other_types", ctypes.c_int * 14),
        ("max_pkeys", ctypes.c_uint16),
        ("local_ca_ack_delay", ctypes.c_uint8),
        ("phys_port_cnt", ctypes.c_uint8),
    ]


class PortAttributes(ctypes.Structure):
    """struct ibv_port_attr, with room for what later releases append."""

    _fields_ = [
        ("state", ctypes.c_int),
        ("max_mtu", ctypes.c_int),
        ("active_mtu", ctypes.c_int),
        ("gid_tbl_len", ctypes.c_int),
        ("port_cap_flags", ctypes.c_uint32),
        ("max_msg_sz", ctypes.c_uint32),
        ("counters", ctypes.c_uint32 * 2),
        ("pkey_tbl_len", ctypes.c_uint16),
        ("lid", ctypes.c_uint16),
        ("sm_lid", ctypes.c_uint16),
        ("small", ctypes.c_uint8 * 5),
        ("active_width", ctypes.c_uint8),
        ("active_speed", ctypes.c_uint8),
        ("phys_state", ctypes.c_uint8),
        ("link_layer", ctypes.c_uint8),
        ("room", ctypes.c_uint8 * 64),
    ]


def main() -> None:
    """Print the answers of libibverbs as JSON."""
    print(json.dumps(collect()))


def collect() -> dict[str, Any]:
    """All devices that libibverbs lists."""
    try:
        library = ctypes.CDLL(LIBRARY, use_errno=True)
    except OSError as error:
        return {"error": f"{LIBRARY} cannot be loaded ({error})"}
    for name in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd", "ibv_reg_dmabuf_mr"):
        if hasattr(library, name):
            getattr(library, name).restype = ctypes.c_void_p
    library.ibv_get_device_name.restype = ctypes.c_char_p
    count = ctypes.c_int()
    listed = library.ibv_get_device_list(ctypes.byref(count))
    if not listed:
        return {"error": f"{LIBRARY} lists no devices: {_reason()}"}
    devices = ctypes.cast(listed, ctypes.POINTER(ctypes.c_void_p))
    return {"devices": [_device(library, ctypes.c_void_p(devices[index])) for index in range(count.value)]}


def _reason() -> str:
    return os.strerror(ctypes.get_errno())


def _device(library: ctypes.CDLL, device: ctypes.c_void_p) -> dict[str, Any]:
    name = library.ibv_get_device_name(device).decode()
    context = ctypes.c_void_p(library.ibv_open_device(device))
    if not context:
        return {"name": name, "error": f"cannot be opened: {_reason()}"}
    found = DeviceAttributes()
    if status := library.ibv_query_device(context, ctypes.byref(found)):
        return {"name": name, "error": f"cannot be queried: {os.strerror(status)}"}
    ports = [_port(library, context, number) for number in range(1, found.phys_port_cnt + 1)]
    attributes = {key: getattr(found, key) for key in DEVICE_KEYS}
    return {"name": name, **attributes, "dma_buf": _dma_buf(library, context), "ports": ports}


def _port(library: ctypes.CDLL, context: ctypes.c_void_p, number: int) -> dict[str, Any]:
    found = PortAttributes()
    if status := library.ibv_query_port(context, ctypes.c_uint8(number), ctypes.byref(found)):
        return {"number": number, "error": os.strerror(status)}
    return {"number": number, **{key: getattr(found, key) for key in (*PORT_KEYS, *TABLE_KEYS)}}


def _dma_buf(library: ctypes.CDLL, context: ctypes.c_void_p) -> bool | None:
    """Whether the device registers DMA-BUF, by NCCL's trial with a bad descriptor (`ncclIbDmaBufSupport`)."""
    if not hasattr(library, "ibv_reg_dmabuf_mr"):
        return False
    domain = ctypes.c_void_p(library.ibv_alloc_pd(context))
    if not domain:
        return None
    zero = ctypes.c_uint64(0)
    region = library.ibv_reg_dmabuf_mr(domain, zero, ctypes.c_size_t(0), zero, ctypes.c_int(-1), ctypes.c_int(0))
    return bool(region) or ctypes.get_errno() not in NOT_SUPPORTED


if __name__ == "__main__":
    main()
