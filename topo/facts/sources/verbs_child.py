# SPDX-License-Identifier: Apache-2.0
"""The child process that loads pyverbs: prints {"devices": [...]} or {"error": reason}; verbs.py reads what it prints.

Devices come in the order of `ibv_get_device_list`. A reading that fails is null. Run by its path, so that another
interpreter than ours, one that has pyverbs but not railgauge, can run it: it imports nothing of railgauge.
"""

import errno
import json
from typing import Any

ATTRIBUTES = (
    "vendor_id",
    "vendor_part_id",
    "hw_ver",
    "phys_port_cnt",
    "max_qp",
    "max_qp_wr",
    "max_cq",
    "max_cqe",
    "max_mr",
    "max_mr_size",
    "max_sge",
    "max_sge_rd",
    "atomic_caps",
    "device_cap_flags",
)
PORT_ATTRIBUTES = (
    "state",
    "phys_state",
    "link_layer",
    "max_mtu",
    "active_mtu",
    "active_width",
    "active_speed",
    "max_msg_sz",
    "gid_tbl_len",
    "pkey_tbl_len",
    "port_cap_flags",
)
NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.EPROTONOSUPPORT)


def main() -> None:
    """Print the answers of libibverbs as JSON."""
    print(json.dumps(collect()))


def collect() -> dict[str, Any]:
    """All devices that libibverbs lists."""
    try:
        import pyverbs.device
        import pyverbs.pyverbs_error
    except ImportError as error:
        return {"error": f"pyverbs is absent ({error})"}
    try:
        devices = pyverbs.device.get_device_list()
    except pyverbs.pyverbs_error.PyverbsError as error:
        return {"error": f"libibverbs: {error}"}
    return {"devices": [_device(device.name.decode()) for device in devices]}


def _device(name: str) -> dict[str, Any]:
    import pyverbs.device
    import pyverbs.pyverbs_error

    try:
        with pyverbs.device.Context(name=name) as context:
            found = context.query_device()
            attributes = {key: getattr(found, key, None) for key in ATTRIBUTES}
            ports = [_port(context, number) for number in range(1, found.phys_port_cnt + 1)]
            return {"name": name, **attributes, "dma_buf": _dma_buf(context), "ports": ports}
    except pyverbs.pyverbs_error.PyverbsError as error:
        return {"name": name, "error": str(error)}


def _port(context: Any, number: int) -> dict[str, Any]:
    import pyverbs.pyverbs_error

    try:
        found = context.query_port(number)
    except pyverbs.pyverbs_error.PyverbsError as error:
        return {"number": number, "error": str(error)}
    return {"number": number, **{key: getattr(found, key, None) for key in PORT_ATTRIBUTES}}


def _dma_buf(context: Any) -> bool | None:
    """Whether the device registers DMA-BUF, by NCCL's trial with a bad descriptor (`ncclIbDmaBufSupport`)."""
    import pyverbs.mr
    import pyverbs.pd
    import pyverbs.pyverbs_error

    if not hasattr(pyverbs.mr, "DmaBufMR"):
        return None
    try:
        with pyverbs.pd.PD(context) as domain:
            pyverbs.mr.DmaBufMR(domain, 0, 0, dmabuf=-1)
    except pyverbs.pyverbs_error.PyverbsRDMAError as error:
        return error.error_code not in NOT_SUPPORTED
    return True


if __name__ == "__main__":
    main()
