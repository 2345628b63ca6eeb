# SPDX-License-Identifier: Apache-2.0
"""Topology files: what is wrong in one, by itself and compared with the machine that it is for."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

TOPO_FILE_STALE = Card(
    id="topo-file-stale",
    title="The topology file is for another machine",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "NCCL takes places and links of devices from the file that NCCL_TOPO_FILE names. One for another machine, left "
        "in /etc/nccl.conf or in an image, makes it plan with links that do not exist. It leaves out GPUs of the file "
        "that no rank uses and NICs that its plugin does not list, and places devices that the file lacks by sysfs."
    ),
    remedy="unset NCCL_TOPO_FILE (also in /etc/nccl.conf), or dump the topology of this machine: railgauge topo dump",
    sure="railgauge topo lint FILE --from live",
    passes="no topology file is in force, or it names this machine's devices",
    reads=("NCCL_TOPO_FILE", "/var/run/nvidia-topologyd/virtualTopology.xml", "/sys/bus/pci/devices"),
    shows=("NCCL WARN Could not find real path of /sys/class/pci_bus/0000:0d/../../0000:0d:00.0",),
    shared_with=("topology-unusable",),
    hints=("NCCL INFO NCCL_TOPO_FILE set by environment to /etc/nccl/topo.xml",),
    patterns=(
        Pattern(
            r"Could not find real path of (?!\S+ \(/sys/class/infiniband)",
            FAIL,
            "the topology names a device that this machine does not have: the file is for another one",
        ),
        Pattern(
            r"Could not find real path of /sys/class/pci_bus",
            WARN,
            "the topology names devices that this machine does not have, and NCCL goes on without their links: the "
            "file is for another one",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/573", "https://github.com/NVIDIA/nccl/issues/1008"),
)
TOPO_FILE_FAULTY = Card(
    id="topo-file-faulty",
    title="NCCL refuses the topology file, or is slowed down by it",
    levels=(WARN, FAIL, UNKNOWN),
    about=(
        "NCCL does not compare the links in a topology file with the machine's: a bridge of 2.5 GT/s x1 that does not "
        "exist, NVLinks that end where they start or a missing attribute cost a factor of ten or stop NCCL. Files "
        "published by clouds have had all of these."
    ),
    remedy=(
        "correct what railgauge topo lint FILE names, or dump the topology again (railgauge topo dump); without "
        "NCCL_TOPO_FILE and NCCL_GRAPH_FILE NCCL detects the machine itself"
    ),
    sure="railgauge topo lint FILE",
    passes="no topology file is in force, or nothing in it is wrong by itself",
    reads=("NCCL_TOPO_FILE", "/var/run/nvidia-topologyd/virtualTopology.xml"),
    shows=(
        "NCCL WARN Attribute arch of node cpu not found",
        "NCCL WARN XML Import Channel : dev 3 not found.",
        "NCCL WARN Error : too many XML nodes (max 256)",
        "NCCL WARN Error : XML parser is limited to 256 nodes",
    ),
    patterns=(
        Pattern(
            r"Attribute (?!busid of node nic)\w+ of node (?!algo)\w+ not found"
            r"|XML Import Channel|too many XML nodes|XML parser is limited"
            r"|XML (?:parse|Parse|mismatch|Mismatch)|XML \w+ has wrong version",
            FAIL,
            "the topology or graph file is faulty or too large",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/573", "https://github.com/NVIDIA/nccl/issues/379"),
)
VM_FLAT_TOPOLOGY = Card(
    id="vm-flat-topology",
    title="A virtual machine hides the PCI tree",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "The hypervisor shows GPUs and NICs flat on one bus, without switches, NUMA nodes or link speeds. NCCL then "
        "counts each unknown link as PCIe Gen3 x16, and takes every path for one through the CPU, so that it uses no "
        "GPUDirect RDMA by default."
    ),
    remedy=(
        "set NCCL_TOPO_FILE to the provider's file for this instance type, or to one made on the host by railgauge "
        "topo make"
    ),
    sure="railgauge topo show: all devices are on bus 0; numa_node is -1 in lspci -vv",
    passes="the PCI tree shows switches or several roots",
    reads=("/sys/bus/pci/devices", "/proc/cpuinfo (hypervisor)", "NCCL_TOPO_FILE"),
    shows=("NCCL WARN KV Convert to int : could not find value of '' in dictionary, falling back to 60",),
    patterns=(
        Pattern(
            r"KV Convert to int : could not find value",
            WARN,
            "PCI link speeds cannot be read, as in a virtual machine: NCCL assumes some",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl-tests/issues/256", "https://github.com/NVIDIA/nccl/issues/1843"),
)
AFFINITY_MASK_WRONG = Card(
    id="affinity-mask-wrong",
    title="A CPU mask cannot be right",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "NCCL binds a rank's threads to those cores of the CPU nearest to its GPU that the process may use. Masks that "
        "overlap or are swapped put proxies and host buffers on the wrong socket; with none left NCCL does not bind. "
        "Topology files of large clouds have had such masks."
    ),
    remedy="take each mask from /sys/devices/system/node/node*/cpumap of the machine, or leave affinity out",
    sure="compare affinity= in the file with /sys/devices/system/node/node*/cpumap",
    passes="every NUMA node has its own cores, those of the machine",
    reads=("NCCL_TOPO_FILE", "/sys/devices/system/node/node*/cpumap"),
    hints=(
        "NCCL INFO Setting affinity for GPU 0 to ffff,0000ffff",
        "NCCL INFO Setting affinity for GPU 0 to 0-15",
    ),
    links=("https://github.com/NVIDIA/nccl/issues/644", "https://github.com/NVIDIA/nccl/issues/2441"),
)
PCIE_BRIDGE_BOGUS = Card(
    id="pcie-bridge-bogus",
    title="A bridge that does not exist limits the devices below it",
    levels=(FAIL, UNKNOWN),
    about=(
        "Hypervisors put devices below bridges that report 2.5 GT/s x1, a figure without meaning. NCCL takes it for a "
        "link of 0.2 GB/s and plans all traffic of the devices below with it."
    ),
    remedy=(
        "dump the topology (railgauge topo dump), give the bridge the link of the devices below it or put them below "
        "the <cpu> itself, and name the file in NCCL_TOPO_FILE; ask the cloud to correct its own file"
    ),
    sure="lspci -tv, and LnkCap of the bridge in lspci -vv",
    passes="no bridge is much slower than the devices below it",
    reads=("NCCL_TOPO_FILE", "/sys/bus/pci/devices/*/max_link_*"),
    shows=("NCCL INFO + PCI[0.2] - PCI/A1000",),
    links=("https://github.com/NVIDIA/nccl/issues/573",),
)
NCCL_CANNOT_READ = Card(
    id="nccl-cannot-read",
    title="NCCL's own XML parser refuses the file or reads it differently",
    levels=(WARN, FAIL),
    about=(
        "NCCL reads XML with a small parser of its own, which refuses XML headers, byte order marks, tabs between "
        "elements and long values that other programs write and accept."
    ),
    remedy="write it as NCCL does: railgauge topo dump --from FILE -o NEW",
)
ELEMENT_IGNORED = Card(
    id="element-ignored",
    title="NCCL does not read an element or attribute",
    levels=(INFO, WARN),
    about="NCCL skips unknown elements with all that is in them, and elements that are not where it looks for them.",
    remedy="correct its name or move it where NCCL looks (system/cpu/pci.../gpu|nic/nvlink|c2c|net)",
)
ATTRIBUTE_MISSING = Card(
    id="attribute-missing",
    title="An attribute is missing",
    levels=(INFO, FAIL),
    about=(
        "Some attributes NCCL needs, and stops without them; others it reads from the machine, where it runs on the "
        "machine of the file."
    ),
    remedy="add it; railgauge topo dump on the machine shows its value",
)
BUSID_SPELLING = Card(
    id="busid-spelling",
    title="NCCL does not find a bus id in this spelling",
    levels=(WARN, FAIL),
    about="NCCL compares bus ids as sysfs writes them: domain, bus, device and function, in lower case.",
    remedy="write it as in /sys/bus/pci/devices: 0000:1b:00.0",
)
BUSID_DUPLICATE = Card(
    id="busid-duplicate",
    title="A bus id is in the file twice",
    levels=(WARN, FAIL),
    about="NCCL takes the first device of a bus id, so what is below the second one is lost or put in the wrong place.",
    remedy="keep the one that is true; put the devices below both under it",
)
CLASS_MISMATCH = Card(
    id="class-mismatch",
    title="A PCI class does not match the device",
    levels=(WARN, FAIL),
    about=(
        "NCCL knows GPUs and NICs by the <gpu> or <nic> in a <pci>, and bridges by their PCI class: it looks for "
        "devices below bridges only."
    ),
    remedy="take it from /sys/bus/pci/devices/BUSID/class: 0x0604.. a bridge, 0x03.. a GPU, 0x02.. a NIC",
)
NUMAID_DUPLICATE = Card(
    id="numaid-duplicate",
    title="A NUMA node is in the file twice",
    levels=(FAIL,),
    about=(
        "NCCL finds a CPU by its numaid: of two with the same one it finds the first, and counts the second as a "
        "socket of its own."
    ),
    remedy="join the two <cpu>, or give each its own numaid",
)
SEVERAL_HOSTS = Card(
    id="several-hosts",
    title="Several hosts are in one file",
    levels=(INFO,),
    about=(
        "NCCL writes such a file with NCCL_TOPO_DUMP_FILE for multi-node NVLink; when it loads one, it takes every "
        "<cpu> for its own host's."
    ),
    remedy="make one file for each host, with its own <cpu> elements, before NCCL loads it",
)
CPU_UNKNOWN = Card(
    id="cpu-unknown",
    title="NCCL does not know a CPU",
    levels=(INFO, WARN),
    about="NCCL takes the bandwidth between sockets from the CPU's architecture, vendor and model.",
    remedy="arch is one of x86_64, arm64, ppc64; vendor is what /proc/cpuinfo calls vendor_id",
)
LINK_SPEED_UNKNOWN = Card(
    id="link-speed-unknown",
    title="NCCL counts a link speed as Gen3",
    levels=(INFO, WARN),
    about=(
        "NCCL knows link speeds as texts; any other text counts as PCIe Gen3: too slow where others of the model are "
        "faster."
    ),
    remedy="write it as sysfs does: 2.5, 5.0, 8.0, 16.0, 32.0 or 64.0 GT/s PCIe",
)
LINK_WIDTH_UNKNOWN = Card(
    id="link-width-unknown",
    title="A link has no width",
    levels=(INFO, WARN),
    about="Without a width NCCL counts 16 lanes.",
    remedy="take it from max_link_width of the device and of the port above it, the smaller of both",
)
NVLINK_ONE_SIDED = Card(
    id="nvlink-one-sided",
    title="The GPU at the other end lacks an NVLink",
    levels=(WARN,),
    about="Each NVLink is listed at both of its ends; where the counts differ one end is down, or the file is wrong.",
    remedy="state the same count at both ends (nvidia-smi nvlink -R shows the ends)",
)
NVLINK_COUNT_HIGH = Card(
    id="nvlink-count-high",
    title="More NVLinks than such a GPU has",
    levels=(WARN,),
    about="The number of NVLinks is known for each GPU architecture (sm); with more NCCL plans too much bandwidth.",
    remedy="correct the counts, or sm (nvidia-smi nvlink -s lists the links)",
)
NVLINK_CLASS_ODD = Card(
    id="nvlink-class-odd",
    title="The target class of an NVLink does not match its target",
    levels=(WARN,),
    about="NCCL decides by tclass whether an NVLink leads to a GPU, an NVSwitch or a CPU.",
    remedy="tclass is the class of the target in sysfs; 0x068000 for an NVSwitch that a VM does not see",
)
NVLINK_TARGET_UNKNOWN = Card(
    id="nvlink-target-unknown",
    title="An NVLink leads to a GPU that is not in the file",
    levels=(INFO,),
    about="NCCL ignores such links. A file of the GPUs of one job looks like this.",
    remedy="nothing when the file describes a part of the machine; otherwise correct the bus id",
)
NVLINK_DIFFERS = Card(
    id="nvlink-differs",
    title="NVLinks differ from the machine's",
    levels=(WARN, UNKNOWN),
    about="NCCL asks NVML only where the file names no NVLinks of a GPU; otherwise it plans with those of the file.",
    remedy="leave <nvlink> out, so that NCCL asks NVML; where links are down check nvidia-smi nvlink -s",
)
C2C_UNEVEN = Card(
    id="c2c-uneven",
    title="A GPU lacks the chip-to-chip link that its siblings have",
    levels=(WARN,),
    about="On Grace-based boards every GPU has a chip-to-chip link to its CPU; without it traffic goes over PCIe.",
    remedy="check nvidia-smi c2c -s on that GPU; with the links up, dump the topology again",
)
GPU_NUMBERING = Card(
    id="gpu-numbering",
    title="GPUs share a rank or index, or ranks have gaps",
    levels=(INFO, WARN),
    about="dev is the GPU's number in NVML and rank the rank that uses it; NCCL sets rank itself.",
    remedy="give each GPU its own dev (nvidia-smi's number), and leave rank out: NCCL sets it",
)
GPU_DIFFERS = Card(
    id="gpu-differs",
    title="A GPU differs from the machine's, or from most of its model",
    levels=(WARN,),
    about=(
        "NCCL finds a GPU by its bus id, and then the file overrides the machine, attribute by attribute. Without a "
        "machine to compare with, a GPU without GPUDirect RDMA (gdr) is found beside others of the model that have it."
    ),
    remedy="leave sm, dev and gdr out, so that NCCL asks NVML and CUDA",
)
NET_DUPLICATE = Card(
    id="net-duplicate",
    title="Two NICs have one number or one name",
    levels=(WARN,),
    about=(
        "NCCL finds a NIC by its name, the first where two have the same, and sets dev itself: the number in its "
        "plugin. railgauge reads dev from the file."
    ),
    remedy="number the NICs 0, 1, ... in the order of ibv_devices, and name each as the system does",
)
NET_SPEED_UNKNOWN = Card(
    id="net-speed-unknown",
    title="A NIC has no speed",
    levels=(INFO, WARN),
    about="Without a speed NCCL asks its plugin; where that does not answer it counts 10 Gb/s.",
    remedy="state it in Mb/s: 400000 for 400 Gb/s",
)
NET_DIFFERS = Card(
    id="net-differs",
    title="A NIC differs from the machine's, or from most of its model",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "NCCL finds a NIC by its name, and then the file overrides the machine, attribute by attribute. It leaves out "
        "NICs that its plugin does not list. Without a machine to compare with, a NIC that is slower than most of its "
        "model, or lacks their GPUDirect RDMA (gdr), is found."
    ),
    remedy=(
        "leave speed, gdr, port and guid out, so that NCCL asks its plugin; use the names in /sys/class/infiniband; "
        "check whether the port is down or a setting excludes it"
    ),
)
DEVICE_MISPLACED = Card(
    id="device-misplaced",
    title="A device is on another NUMA node than on the machine",
    levels=(WARN,),
    about="Paths between GPUs, NICs and CPUs are then counted across the wrong sockets.",
    remedy="take numa_node of the device from sysfs, or from the provider's file for exactly this machine type",
)
