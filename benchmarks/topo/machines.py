# SPDX-License-Identifier: Apache-2.0
"""Large machines as NCCL's XML: a node of 16 GPUs and 32 NICs, and an NVLink domain of 72 GPUs on 18 trays."""

SWITCHED = '<nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/>'
C2C = '<c2c bw="44712" count="10"/>'
INTEL = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"'


def device(bus_id: str, kind: str, inside: str) -> str:
    return f'<pci busid="{bus_id}" class="{kind}" link_speed="32.0 GT/s PCIe" link_width="16">{inside}</pci>'


def gpu(bus_id: str, dev: int, rank: int, sm: int, wires: str) -> str:
    return device(bus_id, "0x030200", f'<gpu dev="{dev}" sm="{sm}" rank="{rank}" gdr="1">{wires}</gpu>')


def nic(bus_id: str, dev: int) -> str:
    net = f'<net name="mlx5_{dev}" dev="{dev}" speed="400000" port="1" guid="0x{dev + 1:x}" gdr="1"/>'
    return device(bus_id, "0x020000", f"<nic>{net}</nic>")


def node_16() -> str:
    """Two sockets with four switches each; two GPUs and four NICs below a switch, NVSwitches between the GPUs."""
    sockets = "".join(
        f'<cpu numaid="{socket}" {INTEL}>{"".join(_switch(4 * socket + i) for i in range(4))}</cpu>'
        for socket in range(2)
    )
    return f'<system version="1">{sockets}</system>'


def _switch(number: int) -> str:
    bus = 16 * number + 16
    gpus = (gpu(f"0000:{bus + 1 + i:02x}:00.0", 2 * number + i, 2 * number + i, 90, SWITCHED) for i in range(2))
    nics = (nic(f"0000:{bus + 4 + i:02x}:00.0", 4 * number + i) for i in range(4))
    return device(f"0000:{bus:02x}:00.0", "0x060400", "".join((*gpus, *nics)))


def domain_72() -> str:
    """Eighteen trays of two CPUs; two GPUs with chip-to-chip links and two NICs a CPU, one NVLink fabric for all."""
    cpus = (_half_tray(tray, cpu) for tray in range(18) for cpu in range(2))
    return f'<system version="1">{"".join(cpus)}</system>'


def _half_tray(tray: int, cpu: int) -> str:
    devs = (2 * cpu, 2 * cpu + 1)
    gpus = (gpu(f"{cpu * 8 + dev:04x}:06:00.0", dev, 4 * tray + dev, 100, SWITCHED + C2C) for dev in devs)
    nics = (nic(f"{cpu * 8 + dev + 4:04x}:01:00.0", dev) for dev in devs)
    return f'<cpu host_hash="0x{tray + 1:x}" numaid="{cpu}" arch="arm64">{"".join((*gpus, *nics))}</cpu>'
