# SPDX-License-Identifier: Apache-2.0
"""RDMA devices as the content of a railgauge/rdma/1 document."""

from typing import Any

from railgauge.topo.facts.sources.sysfs_infiniband import Gid, RdmaDevice, port_protocol
from railgauge.topo.nccl.detect.rdma_survey import PortSurvey, RdmaSurvey


def rdma_document(survey: RdmaSurvey) -> dict[str, Any]:
    """Devices with their ports and GIDs, NCCL's choices, the host's part of GPUDirect RDMA, and remarks."""
    gdr = survey.gdr
    return {
        "devices": [_device(device, survey) for device in survey.devices],
        "merged": [[port.name for port in nic] for nic in survey.merged],
        "gdr": {
            "peer_memory": list(gdr.peer_memory),
            "kernel": gdr.kernel,
            "driver": gdr.driver,
            "open_driver": gdr.open_driver,
            "dma_buf": dict(gdr.dma_buf),
        },
        "remarks": list(survey.remarks),
        "unknown": survey.unknown,
    }


def _device(device: RdmaDevice, survey: RdmaSurvey) -> dict[str, Any]:
    verbs = survey.verbs.device(device.name)
    return {
        "name": device.name,
        "protocol": device.protocol,
        "transport": device.transport,
        "virtual": device.virtual,
        "bus_id": device.bus_id,
        "carrier_bus_id": device.carrier_bus_id,
        "physfn": device.physfn,
        "numa": device.numa,
        "node_guid": device.node_guid,
        "sys_image_guid": device.sys_image_guid,
        "firmware": device.firmware,
        "hw_rev": device.hw_rev,
        "hca_type": device.hca_type,
        "board_id": device.board_id,
        "node_desc": device.node_desc,
        "vendor_id": verbs.vendor_id,
        "vendor_part_id": verbs.vendor_part_id,
        "max_qp": verbs.max_qp,
        "dma_buf": verbs.dma_buf,
        "ports": [_port(port) for port in survey.ports if port.device is device],
    }


def _port(survey: PortSurvey) -> dict[str, Any]:
    port = survey.port
    verbs = survey.verbs.port(port.number)
    return {
        "number": port.number,
        "protocol": port_protocol(survey.device, port),
        "state": port.state,
        "physical_state": port.physical_state,
        "rate": port.rate,
        "rate_gbps": port.rate_gbps,
        "width": port.width,
        "speed": port.speed,
        "link_layer": port.link_layer,
        "lid": port.lid,
        "lmc": port.lmc,
        "sm_lid": port.sm_lid,
        "cap_mask": port.cap_mask,
        "guid": port.guid,
        "active_mtu_bytes": verbs.active_mtu,
        "max_mtu_bytes": verbs.max_mtu,
        "netdev": port.netdev,
        "gid_table_length": port.gid_table_length,
        "gids": [_gid(gid) for gid in port.gids],
        "nccl": _nccl(survey),
        "unused": survey.unused,
    }


def _gid(gid: Gid) -> dict[str, Any]:
    return {"index": gid.index, "gid": gid.gid, "type": gid.type, "netdev": gid.netdev}


def _nccl(survey: PortSurvey) -> dict[str, Any] | None:
    """The port as NCCL uses it; null when it does not."""
    if survey.nccl is None:
        return None
    gdr, why = survey.gdr
    return {
        "dev": survey.dev,
        "port": survey.nccl.port,
        "guid": f"{survey.nccl.guid:#x}",
        "speed_mbps": survey.nccl.speed_mbps,
        "bus_id": survey.nccl.bus_id,
        "gid_index": survey.gid.index,
        "gid_why": survey.gid.why,
        "gdr": gdr,
        "gdr_why": why,
    }
