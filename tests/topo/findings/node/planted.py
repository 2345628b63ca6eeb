# SPDX-License-Identifier: Apache-2.0
"""Faults planted in fixtures, one at a time, and what the rules must say of each."""

from tests.topo.findings.node.cases import IB, NET, PCI, Link, capture, case

from railgauge.topo.findings.node.peers import gpus, ports_between

DGX, ROCE, MESH, PAIR, A100 = "dgx-h100", "hgx-h100-8nic", "dgx-1v", "consumer-2x5090", "dgx-a100"
NIC, ABOVE, GPU, UPLINK = "0000:18:00.0", "0000:17:00.0", "0000:1b:00.0", "0000:16:00.0"
GROUPS = "/sys/kernel/iommu_groups"
ZERO = ":".join(["0000"] * 8)
MB = 1_000_000


def link(bus_id, lanes=None, speed=None, *, most=False):
    """A PCIe link at fewer lanes or a lower generation; `most`: and it cannot do more."""
    files = {}
    for end in ("current", "max") if most else ("current",):
        files |= {f"{PCI}/{bus_id}/{end}_link_width": str(lanes)} if lanes else {}
        files |= {f"{PCI}/{bus_id}/{end}_link_speed": f"{speed:.1f} GT/s PCIe"} if speed else {}
    return files


def port(number, **texts):
    return {f"{IB}/mlx5_{number}/ports/1/{name}": text for name, text in texts.items()}


def gids(**entries):
    """The GID table of mlx5_0 with these entries alone: "local", or an IPv4 address in hex, and the RoCE version."""
    files = {}
    for index in range(8):
        text, version = entries.get(f"at{index}", (ZERO, None))
        gid = {"local": "fe80:0000:0000:0000:0a00:00ff:fe00:0001"}.get(text, text)
        files[f"{IB}/mlx5_0/ports/1/gids/{index}"] = gid
        files[f"{IB}/mlx5_0/ports/1/gid_attrs/types/{index}"] = version and ("IB/RoCE v1", "RoCE v2")[version - 1]
    return files


ADDRESS = "0000:0000:0000:0000:0000:ffff:0a00:0001"


def links_down(gpu, *numbers):
    return {f"nvml.gpus.{gpu}.links.{number}.state": 0 for number in numbers}


def links_between(name, one, other):
    """The NVLinks of a mesh from one GPU to another, by NVML's index."""
    gpus = capture(name).facts["nvml"]["gpus"]
    return [number for number, link in enumerate(gpus[one]["links"]) if link.get("remote") == gpus[other]["pci"]]


LAST_LINKS = [
    (gpu, [links_between("a100-4gpu", gpu, peer)[-1] for peer in range(4) if peer != gpu]) for gpu in range(4)
]
"""Of each GPU, one link to each peer."""


def process(**answers):
    return {"process": {"memlock_bytes": [-1, -1], "open_files": [65536, 65536], "numa_error": "", **answers}}


def shm(free):
    return {"shared_memory": {"size_bytes": free, "free_bytes": free, "segments": []}}


def acs_of_one_switch():
    ports = [one for one, pair in ports_between(case(DGX)).items() if GPU in pair]
    functions = {one: {"size": 4096, "port": 6, "acs": 0} for one in ports_between(case(DGX))}
    return {"pci_config": {"functions": functions | {ports[0]: {"size": 4096, "port": 6, "acs": 0x1D}}}}, ports[0]


ACS, REDIRECTING = acs_of_one_switch()


def soft_roce():
    """An rxe0 over an interface of the machine, beside its cards."""
    there = "/sys/devices/virtual/infiniband/rxe0"
    texts = {"node_type": "1: CA", "node_guid": "5054:00ff:fe12:3456", "ports/1/state": "4: ACTIVE"}
    texts |= {"ports/1/rate": "40 Gb/sec (4X QDR)", "ports/1/link_layer": "Ethernet", "ports/1/gids/0": ADDRESS}
    verbs = capture(ROCE).facts["verbs"]
    files = {f"{there}/{name}": text for name, text in texts.items()} | {f"{IB}/rxe0": Link(there)}
    return {"files": files, "facts": {"verbs": {"devices": [*verbs["devices"], {"name": "rxe0"}]}}}


def two_in_one_network():
    told = [
        {"name": f"eth{n}", "index": 2 + n, "flags": 0x1043, "addresses": [f"10.0.0.{5 + n}"], "prefix": 24}
        for n in (0, 1)
    ]
    conf = "/proc/sys/net/ipv4/conf"
    files = {f"{conf}/{name}/rp_filter": "1" for name in ("all", "eth0", "eth1")}
    files |= {f"{NET}/eth{n}/mtu": "1500" for n in (0, 1)}
    return {"files": files, "facts": {"interfaces": {"interfaces": told}}}


def governor(name, driver):
    folder = "/sys/devices/system/cpu/cpufreq/policy0"
    return {f"{folder}/scaling_governor": name, f"{folder}/scaling_driver": driver}


UUID = capture(DGX).facts["nvml"]["gpus"][0]["uuid"]
GUID = "946d:ae03:0090:7832"
NODES = {"/dev/null": ""} | {f"/dev/infiniband/uverbs{n}": "" for n in range(1, 9)}
FAULTS = {
    "NIC at x8": (DGX, {"files": link(NIC, 8)}, {("pcie-link-degraded", "FAIL", NIC)}),
    "NIC at x4": (DGX, {"files": link(NIC, 4)}, {("pcie-link-degraded", "FAIL", NIC)}),
    "NIC in a slot of x8": (
        DGX,
        {"files": link(NIC, 8) | link(ABOVE, 8, most=True)},
        {("pcie-link-degraded", "FAIL", NIC)},
    ),
    "card of two ports at x8": (
        DGX,
        {"files": link("0000:29:00.0", 8) | link("0000:29:00.1", 8)},
        {("pcie-link-degraded", "FAIL", "0000:29:00.0")},
    ),
    "the only card, of two ports, at x8": (
        "pcie-no-switch",
        {"files": link("0000:38:00.0", 8) | link("0000:38:00.1", 8)},
        {("pcie-link-degraded", "FAIL", "0000:38:00.0")},
    ),
    "NIC at a lower generation": (DGX, {"files": link(NIC, speed=16)}, {("pcie-link-degraded", "FAIL", NIC)}),
    "NIC of a lower generation": (
        DGX,
        {"files": link(NIC, speed=16, most=True)},
        {("pcie-link-degraded", "FAIL", NIC)},
    ),
    "port above the NIC of a lower generation": (
        DGX,
        {"files": link(ABOVE, speed=16, most=True) | link(NIC, speed=16)},
        {("pcie-link-degraded", "FAIL", NIC)},
    ),
    "GPU at x8": (DGX, {"files": link(GPU, 8)}, {("pcie-link-degraded", "FAIL", GPU)}),
    "port above the GPU of a lower generation": (
        DGX,
        {"files": link("0000:1a:00.0", speed=8, most=True)},
        {("pcie-link-degraded", "FAIL", GPU)},
    ),
    "uplink of a switch at x8": (DGX, {"files": link(UPLINK, 8)}, {("pcie-link-degraded", "FAIL", UPLINK)}),
    "bridge of x1": (DGX, {"files": link(UPLINK, 1, 2.5, most=True)}, {("pcie-bridge-bogus", "FAIL", UPLINK)}),
    "6 of 18 NVLinks down": (
        DGX,
        {"facts": links_down(3, *range(6))},
        {("nvlink-missing", "WARN", "0000:61:00.0")},
    ),
    "GPU without NVLinks": (DGX, {"facts": links_down(3, *range(18))}, {("nvlink-missing", "FAIL", "0000:61:00.0")}),
    "NVLink of a mesh down at one end": (
        MESH,
        {"facts": links_down(0, *links_between(MESH, 0, 3)[:1])},
        {("nvlink-missing", "WARN", "0000:06:00.0")},
    ),
    "port down": (
        DGX,
        {"files": port(0, state="1: DOWN", phys_state="2: Polling")},
        {("ib-port-down", "FAIL", "mlx5_0:1")},
    ),
    "port without a subnet manager": (DGX, {"files": port(0, state="2: INIT")}, {("ib-port-down", "FAIL", "mlx5_0:1")}),
    "port at the lowest rate": (
        DGX,
        {"files": port(0, rate="10 Gb/sec (4X SDR)")},
        {("ib-rate-low", "WARN", "mlx5_0:1")},
    ),
    "port that is down at the lowest rate": (
        DGX,
        {"files": port(0, state="1: DOWN", rate="10 Gb/sec (4X SDR)")},
        {("ib-port-down", "FAIL", "mlx5_0:1")},
    ),
    "GIDs with holes": (
        ROCE,
        {"files": gids(at4=(ADDRESS, 1), at5=(ADDRESS, 2))},
        {("gid-table-holes", "WARN", "mlx5_0:1")},
    ),
    "GIDs of RoCE v1": (
        ROCE,
        {"files": gids(at0=("local", 1), at1=(ADDRESS, 1))},
        {("rail-unreachable", "WARN", "mlx5_0:1")},
    ),
    "GIDs that are link-local": (
        ROCE,
        {"files": gids(at0=("local", 1), at1=("local", 2))},
        {("rail-unreachable", "WARN", "mlx5_0:1")},
    ),
    "no GIDs": (ROCE, {"files": gids()}, {("rail-unreachable", "WARN", "mlx5_0:1")}),
    "NCCL_IB_GID_INDEX of a guide, on a table with holes": (
        ROCE,
        {"files": gids(at4=(ADDRESS, 1), at5=(ADDRESS, 2)), "settings": {"NCCL_IB_GID_INDEX": "3"}},
        {("gid-table-holes", "WARN", "mlx5_0:1"), ("gid-index-invalid", "FAIL", "mlx5_0:1")},
    ),
    "ACS of one switch": (DGX, {"facts": ACS}, {("acs-enabled", "WARN", REDIRECTING)}),
    "IOMMU that translates": (
        DGX,
        {"files": {f"{GROUPS}/0/type": "DMA-FQ"} | {f"{GROUPS}/0/devices/{one}": "" for one in (GPU, NIC)}},
        {("iommu-translating", "WARN", GPU)},
    ),
    "MIG on one GPU": (
        DGX,
        {"facts": {"nvml.gpus.3.mig": 1} | {f"nvml.gpus.3.links.{n}.p2p": 0 for n in range(18)}},
        {("mig-enabled", "WARN", "0000:61:00.0")},
    ),
    "64 MiB of shared memory without P2P": (
        "pcie-no-numa",
        {"facts": shm(64 << 20)},
        {("shm-too-small", "WARN", "/dev/shm"), ("numa-node-missing", "WARN", "0000:98:00.0, 0000:a9:00.0")},
    ),
    "64 KiB of locked memory": (
        DGX,
        {"facts": process(memlock_bytes=[65536, 65536])},
        {("memlock-low", "FAIL", "node")},
    ),
    "1024 files": (DGX, {"facts": process(open_files=[1024, 1024])}, {("nofile-low", "WARN", "node")}),
    "rxe0 beside cards": (ROCE, soft_roce(), {("soft-rdma-present", "WARN", "rxe0")}),
    "UUID twice": (DGX, {"facts": {"nvml.gpus.5.uuid": UUID}}, {("duplicate-gpu", "FAIL", UUID)}),
    "GUID twice": (
        DGX,
        {"files": {f"{IB}/mlx5_{n}/node_guid": GUID for n in (0, 4)}},
        {("duplicate-nic", "WARN", GUID)},
    ),
    "strict filters in one network": (PAIR, two_in_one_network(), {("rp-filter-strict", "WARN", "eth0, eth1")}),
    "governor powersave": (DGX, {"files": governor("powersave", "acpi-cpufreq")}, {("cpu-governor", "WARN", "node")}),
    "NVML of another release": (DGX, {"facts": {"nvml.driver": "470.1.2"}}, {("driver-mismatch", "FAIL", "nvidia")}),
    "NVML that does not start": (
        DGX,
        {"facts": {"nvml": {"error": "NVML: Driver/library version mismatch"}}},
        {("driver-mismatch", "FAIL", "nvidia")},
    ),
    "fabric manager of another release": (
        DGX,
        {"facts": {"fabric_manager": {"release": "535.161.08"}}},
        {("fabric-not-ready", "WARN", "nv-fabricmanager")},
    ),
    "fabric manager of another release, and CUDA that waits": (
        A100,
        {
            "facts": {
                "fabric_manager": {"release": "450.1.2"},
                "cuda": {"error": "CUDA: cuInit failed with status 802", "gpus": []},
            }
        },
        {("fabric-not-ready", "FAIL", "nv-fabricmanager"), ("fabric-not-ready", "FAIL", "node")},
    ),
    "no node of a device": (
        ROCE,
        {"files": {"/dev/null": ""}, "facts": {"verbs": {"devices": []}}},
        {("verbs-device-missing", "FAIL", f"mlx5_{n}") for n in range(8)},
    ),
    "no provider": (
        ROCE,
        {"files": NODES, "facts": {"verbs": {"devices": []}}},
        {("verbs-provider-missing", "FAIL", f"mlx5_{n}") for n in range(8)},
    ),
    "no libibverbs": (
        ROCE,
        {"facts": {"verbs": {"error": "libibverbs.so.1: cannot open shared object file"}}},
        {("verbs-provider-missing", "FAIL", "node")},
    ),
    "the other socket's cores": (
        "pcie-switch",
        {"facts": {"affinity.cpus": list(case("pcie-switch").topology.numa[0].cpus)}},
        {("numa-misbound", "WARN", one.bus_id) for one in gpus(case("pcie-switch")) if one.numa},
    ),
    "P2P turned off in the environment": (
        DGX,
        {"settings": {"NCCL_P2P_DISABLE": "1"}},
        {("nccl-setting-harmful", "WARN", "NCCL_P2P_DISABLE")},
    ),
    "P2P turned off in a file": (
        DGX,
        {"files": {"/etc/nccl.conf": "NCCL_P2P_DISABLE=1"}, "settings": {}},
        {("conf-file-forgotten", "WARN", "NCCL_P2P_DISABLE")},
    ),
    "blanks in a file": (
        DGX,
        {"files": {"/etc/nccl.conf": "NCCL_IB_TIMEOUT = 22"}, "settings": {}},
        {("nccl-setting-ignored", "WARN", "NCCL_IB_TIMEOUT ")},
    ),
    "a number in words": (
        DGX,
        {"files": {"/etc/nccl.conf": "NCCL_NVLS_ENABLE=true"}, "settings": {}},
        {("nccl-setting-invalid", "WARN", "NCCL_NVLS_ENABLE")},
    ),
    "an octal number": (
        DGX,
        {"files": {"/etc/nccl.conf": "NCCL_IB_TIMEOUT=022"}, "settings": {}},
        {("nccl-setting-invalid", "WARN", "NCCL_IB_TIMEOUT")},
    ),
    "an algorithm that there is not": (
        DGX,
        {"settings": {"NCCL_ALGO": "Rings"}},
        {("nccl-setting-invalid", "FAIL", "NCCL_ALGO")},
    ),
}
