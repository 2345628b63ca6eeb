# SPDX-License-Identifier: Apache-2.0
"""Outputs of tools as users paste them, one for each kind that is read; shortened."""

TOPO_M = """\
$ nvidia-smi topo -m
        GPU0    GPU1    GPU2    NIC0    NIC1    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NV18    NODE    PIX     SYS     0-15,32-47      0               N/A
GPU1    NV18     X      SYS     SYS     PXB     16-31,48-63     1               N/A
GPU2    NODE    SYS      X      NODE    SYS     0-15,32-47      0               N/A
NIC0    PIX     SYS     NODE     X      SYS
NIC1    SYS     PXB     SYS     SYS      X

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""
P2P = """\
        GPU0    GPU1
 GPU0   X       CNS
 GPU1   OK      X
"""
SMI_Q = """\
==============NVSMI LOG==============

Timestamp                                 : Mon Nov  2 10:11:12 2026
Driver Version                            : 570.86.15
CUDA Version                              : 12.8

Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Product Architecture                  : Hopper
    Persistence Mode                      : Enabled
    Compute Mode                          : Exclusive_Process
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    GPU UUID                              : GPU-11111111-2222-3333-4444-555555555555
    PCI
        Bus                               : 0x1B
        Device Id                         : 0x233010DE
        Bus Id                            : 00000000:1B:00.0
        Sub System Id                     : 0x16C110DE
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 3
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 1
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 1
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 34 C
    GPU Power Readings
        Power Draw                        : 71.20 W
        Current Power Limit               : 700.00 W
    Fabric
        State                             : Completed
        Status                            : Success
GPU 00000000:43:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-66666666-7777-8888-9999-000000000000
    Fabric
        State                             : In Progress
        Status                            : N/A
"""
SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   34C    P0             71W /  700W |       1MiB /  81559MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:43:00.0 Off |                    0 |
| N/A   33C    P0             69W /  700W |       1MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
NVLINK_S = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-11111111-2222-3333-4444-555555555555)
\t Link 0: 25 GB/s
\t Link 1: 25 GB/s
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-66666666-7777-8888-9999-000000000000)
\t Link 0: 25 GB/s
\t Link 1: <inactive>
"""
LSPCI = """\
15:01.0 PCI bridge: Intel Corporation Device 352a (rev 04) (prog-if 00 [Normal decode])
\tNUMA node: 0
\tBus: primary=15, secondary=16, subordinate=1b, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #1, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s, Width x16
\tCapabilities: [100 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-

16:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tBus: primary=16, secondary=17, subordinate=1b, sec-latency=0
\tCapabilities: [68] Express (v2) Upstream Port, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)

17:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tBus: primary=17, secondary=18, subordinate=18, sec-latency=0
\tCapabilities: [100 v1] Access Control Services
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-

17:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tBus: primary=17, secondary=1b, subordinate=1b, sec-latency=0
\tCapabilities: [100 v1] Access Control Services
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-

18:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
\tNUMA node: 0
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s, Width x8 (downgraded)
\tKernel driver in use: mlx5_core

1b:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
\tSubsystem: NVIDIA Corporation Device 16c1
\tNUMA node: 0
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s, Width x16
\tKernel driver in use: nvidia
"""
LSPCI_TV = """\
-+-[0000:a0]---01.0-[a1]----00.0  NVIDIA Corporation GA100 [A100 PCIe 40GB]
 +-[0000:40]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex
 |           \\-01.1-[41-44]----00.0-[42-44]--+-00.0-[43]----00.0  NVIDIA Corporation GA100 [A100 PCIe 40GB]
 |                                           \\-01.0-[44]--+-00.0  Mellanox Technologies MT28908 [ConnectX-6]
 |                                                        \\-00.1  Mellanox Technologies MT28908 [ConnectX-6]
 \\-[0000:00]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex
             \\-01.0-[01]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller
"""
IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.39.1002
\tHardware version: 0
\tNode GUID: 0x946dae0300907832
\tSystem image GUID: 0x946dae0300907832
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 13
\t\tLMC: 0
\t\tSM lid: 1
\t\tCapability mask: 0xa751e848
\t\tPort GUID: 0x946dae0300907832
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4129
\tPort 1:
\t\tState: Down
\t\tPhysical state: Polling
\t\tRate: 10
\t\tLink layer: InfiniBand
"""
IBSTATUS = """\
Infiniband device 'mlx5_0' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:946d:ae03:0090:7832
\tbase lid:\t 0xd
\tsm lid:\t\t 0x1
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 200 Gb/sec (4X HDR)
\tlink_layer:\t InfiniBand
"""
DEVINFO = """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t22.38.1900
\tnode_guid:\t\t\ta088:c203:0030:9a0d
\tsys_image_guid:\t\t\ta088:c203:0030:9a0c
\tvendor_id:\t\t\t0x02c9
\tvendor_part_id:\t\t\t4125
\tboard_id:\t\t\tMT_0000000436
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t1024 (3)
\t\t\tlink_layer:\t\tEthernet
\t\t\tactive_width:\t\t4X (2)
\t\t\tactive_speed:\t\t25.0 Gbps (32)
\t\t\tphys_state:\t\tLINK_UP (5)
\t\t\tGID[  0]:\t\tfe80::a288:c2ff:fe30:9a0d, RoCE v1
\t\t\tGID[  3]:\t\t::ffff:10.0.0.7, RoCE v2
"""
SHOW_GIDS = """\
DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV
---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---
mlx5_0\t1\t4\tfe80:0000:0000:0000:a4ed:ccff:fe8b:1994\t\t\tv1\tnet1
mlx5_0\t1\t7\t0000:0000:0000:0000:0000:ffff:0a98:000c\t10.152.0.12  \tv2\tnet1
n_gids_found=2
"""
IBV_DEVICES = """\
    device          \t   node GUID
    ------          \t----------------
    mlx5_0          \t98039b03003b0346
    mlx5_1          \t98039b03003b0347
"""
IBDEV2NETDEV = """\
0000:1a:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) NVIDIA ConnectX-7 fw 28.39.1002 port 1 (ACTIVE) ==> ibs1 (Up)
mlx5_1 port 1 ==> enp27s0f1np1 (Down)
"""
RDMA_LINK = """\
link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 17 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP
link mlx5_1/1 state DOWN physical_state DISABLED netdev ens1f1np1
2/1: mlx5_2/1: state ACTIVE physical_state LINK_UP netdev enp59s0f0 netdev_index 4
"""
IP_ADDR = """\
[{"ifindex":1,"ifname":"lo","flags":["LOOPBACK","UP","LOWER_UP"],"mtu":65536,"operstate":"UNKNOWN",
"link_type":"loopback","address":"00:00:00:00:00:00",
"addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8}]},
{"ifindex":2,"ifname":"eno1","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":9000,"operstate":"UP",
"link_type":"ether","address":"a0:88:c2:00:00:01",
"addr_info":[{"family":"inet6","local":"fe80::1","prefixlen":64},
{"family":"inet","local":"10.1.2.3","prefixlen":24}]}]
"""
DMESG = """\
[    0.000000] Linux version 6.8.0
[  100.500000] NVRM: Xid (PCI:0000:1b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.
"""
HWLOC = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x000000ff" nodeset="0x00000003">
    <info name="HostName" value="node7"/>
    <object type="Package" os_index="0" cpuset="0x0000000f" nodeset="0x00000001">
      <info name="CPUVendor" value="GenuineIntel"/>
      <info name="CPUFamilyNumber" value="6"/>
      <info name="CPUModelNumber" value="143"/>
      <object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x00000001"/>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[2b-3b]">
        <object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[2c-3b]" pci_busid="0000:2b:00.0"
          pci_type="0604 [8086:2030] [8086:0000] 04 00" pci_link_speed="15.753846">
          <object type="PCIDev" pci_busid="0000:34:00.0" pci_type="0302 [10de:1db8] [10de:131d] a1 00">
            <object type="OSDev" gp_index="802" name="nvml0" osdev_type="1">
              <info name="GPUModel" value="Tesla V100-SXM3-32GB-H"/>
            </object>
          </object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x000000f0" nodeset="0x00000002">
      <object type="NUMANode" os_index="1" cpuset="0x000000f0" nodeset="0x00000002"/>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[80-90]">
        <object type="PCIDev" pci_busid="0000:80:00.0" pci_type="0207 [15b3:101b] [15b3:0007] 00 00">
          <object type="OSDev" name="ib0" osdev_type="2">
            <info name="Address" value="00:11:22:33:44:55"/>
          </object>
          <object type="OSDev" name="mlx5_0" osdev_type="3">
            <info name="NodeGUID" value="248a:0703:00b0:1234"/>
            <info name="SysImageGUID" value="248a:0703:00b0:1234"/>
            <info name="Port1State" value="4"/>
            <info name="Port1LID" value="0x1"/>
          </object>
        </object>
      </object>
    </object>
  </object>
  <distances2hetero nbobjs="2" kind="25" name="NVLinkBandwidth">
    <indexes length="18">OSDev:802 Package:3 </indexes>
    <u64values length="30">1000000 50000 50000 1000000 </u64values>
  </distances2hetero>
</topology>
"""
NIC_TABLE = """\
  PCI_addr   |  RDMA  | Net  | Numa | LnkStat | IpStat | Link | Rate | LnkCapWidth | LnkStaWidth | HCA_Type
000a:11:00.0 | mlx5_0 | ib0  |  2   |  down   |  down  |  IB  | 10*  |   x16 G3    |   x8 >!<    |  MT4119
000a:11:00.1 | mlx5_1 | eth1 |  2   |  actv   |   up   |  Eth | 100  |   x16 G3    |   x16 G3    |  MT4119
-----------------------------------------------------------------------------------------------------------
"""
IP_TEXT = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
2: ens3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9001 qdisc mq state UP group default qlen 1000
    link/ether 0a:1b:2c:3d:4e:5f brd ff:ff:ff:ff:ff:ff
    inet 10.0.0.5/24 brd 10.0.0.255 scope global ens3
    inet6 fe80::81b:2cff:fe3d:4e5f/64 scope link
3: eth0@if7: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default
    link/ether 02:42:5d:5f:5f:5f brd ff:ff:ff:ff:ff:ff
"""
IFCONFIG = """\
ens3: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 9001
        inet 10.0.0.5  netmask 255.255.255.0  broadcast 10.0.0.255
        inet6 fe80::81b:2cff:fe3d:4e5f  prefixlen 64  scopeid 0x20<link>
        ether 0a:1b:2c:3d:4e:5f  txqueuelen 1000  (Ethernet)
"""
ALL = {
    "nvidia-smi": SMI,
    "nvidia-smi topo -m": TOPO_M,
    "nvidia-smi topo -p2p": P2P,
    "nvidia-smi -q": SMI_Q,
    "nvidia-smi nvlink -s": NVLINK_S,
    "lspci": LSPCI,
    "lspci -t": LSPCI_TV,
    "ibstat": IBSTAT,
    "ibstatus": IBSTATUS,
    "ibv_devinfo": DEVINFO,
    "show_gids": SHOW_GIDS,
    "ibv_devices": IBV_DEVICES,
    "ibdev2netdev": IBDEV2NETDEV,
    "rdma link": RDMA_LINK,
    "table of NICs": NIC_TABLE,
    "ip -j addr": IP_ADDR,
    "ip addr": IP_TEXT,
    "ifconfig": IFCONFIG,
    "dmesg": DMESG,
    "hwloc": HWLOC,
}
"""By the name that the reader gives it."""
