# SPDX-License-Identifier: Apache-2.0
"""GPUs, their driver, and the cores next to them."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

DRIVER_MISMATCH = Card(
    id="driver-mismatch",
    title="Kernel module and driver libraries are of different releases",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "libcuda and libnvidia-ml work with the kernel module of their own release only. After an update without a "
        "restart, or in a container with libraries of its own, they differ, and no GPU can be used. A driver older "
        "than CUDA needs has the same symptoms. railgauge cluster check also compares the driver of several nodes "
        "(WARN)."
    ),
    effect="CUDA and NVML do not start",
    remedy=(
        "restart the machine, or unload and load the nvidia modules; leave driver libraries out of container images; "
        "where the driver is too old for CUDA update it; install one release on all nodes"
    ),
    sure="cat /proc/driver/nvidia/version; nvidia-smi",
    passes="kernel module and libraries are of one release",
    reads=("/proc/driver/nvidia/version", "nvmlSystemGetDriverVersion", "/usr/lib/*/libnvidia-ml.so.1 (its link)"),
    shows=(
        "Failed to initialize NVML: Driver/library version mismatch",
        "Cuda failure 803 'system has unsupported display driver / cuda driver combination'",
    ),
    patterns=(
        Pattern(
            r"[Dd]river/library version mismatch|NVRM: API mismatch",
            FAIL,
            "the driver's libraries and the kernel module that is loaded are of two releases: mostly an update while "
            "it was in use, or a container with libraries of its own",
        ),
        Pattern(
            r"driver version is insufficient|not supported in the installed CUDA driver|[Cc]uda failure (?:35|36|803"
            r"|804)\b|PTX was compiled with an unsupported|[Cc]uda failure 222\b|(?:CUDA|ROCr) Driver version found is"
            r"|unsupported display driver|forward compatibility was attempted",
            FAIL,
            "the driver is too old for this CUDA, or its libraries are not those of the loaded module",
        ),
        Pattern(
            r"cannot be captured in a graph if",
            FAIL,
            "this NCCL was built with a CUDA older than 11.3, or the driver is older than R465: CUDA graphs cannot "
            "hold its calls; a wheel of the program's own CUDA release brings the right one",
        ),
        Pattern(
            r"creating cudnn handle|CUDNN_STATUS_NOT_INITIALIZED",
            FAIL,
            "cuDNN does not start: libcuda or the driver is of another release than it was built for, or the GPU's "
            "memory is full",
        ),
        Pattern(
            r"driver's CUDA version is \S+ which is older than the PTX compiler",
            WARN,
            "the driver is older than the CUDA that XLA was built with: it goes on, and compiles more slowly",
        ),
        Pattern(
            r"PFN functions not found|Retrieve \S+ (?:version \d+ )?failed with",
            WARN,
            "the driver lacks functions that this NCCL would use: it is older than the CUDA that NCCL was built with",
        ),
    ),
    links=("https://github.com/NVIDIA/nvidia-docker/issues/1447",),
)
GPU_LOST = Card(
    id="gpu-lost",
    title="A GPU is lost",
    levels=(INFO, FAIL, UNKNOWN),
    about=(
        "A GPU that fell off the bus, failed to start, or is not found at boot leaves a node with fewer GPUs than it "
        "has: jobs that take whole nodes fail there. Signs of it: a GPU on PCI that NVML does not list, one in NVML "
        "that CUDA does not list, and, of one that is missing altogether, a switch with a NIC and no GPU, NVLinks to a "
        "GPU that is not there, or a model with more GPUs. GPUs that a container, a job or a VM is not given are not "
        "lost."
    ),
    effect="jobs that take all GPUs of the node fail, or run without it",
    remedy=(
        "drain the node; dmesg | grep -e NVRM -e Xid says why; reset the GPU (nvidia-smi -r) or restart the node, with "
        "power off if that does not help; reseat or replace the GPU or its board"
    ),
    sure="lspci -d 10de:; nvidia-smi -L; ls /proc/driver/nvidia/gpus; dmesg | grep Xid",
    passes="NVML and CUDA list every GPU, and no sign of another one was found",
    reads=(
        "/sys/bus/pci/devices",
        "/proc/driver/nvidia/gpus",
        "/dev/nvidia*",
        "nvmlDeviceGetHandleByIndex",
        "cuDeviceGetCount",
    ),
    shows=(
        "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.",
        "NVRM: RmInitAdapter failed! (0x26:0xffff:1127)",
    ),
    hints=("NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",),
    patterns=(
        Pattern(
            r"GPU is lost|[Uu]nable to determine the device handle for GPU|^(?!.*NVRM: (?:GPU"
            r"|Xid)).*fallen off the bus|(?<!NV_ERR_)GPU_IS_LOST"
            r"|NVRM: The NVIDIA GPU \S+ *$",
            FAIL,
            "the driver does not reach a GPU any more: it fell off the bus, or did not start",
        ),
        Pattern(
            r"RmInitAdapter failed|rm_init_adapter failed|NVRM: .*(?:probe routine failed|None of the NVIDIA devices"
            r"|GFW_BOOT|find an IRQ|copy vbios)|\b(?:nvidia|amdgpu)\b.*\bprobe .*failed with error",
            FAIL,
            "the driver cannot start a GPU: the GPU, its power or its slot is faulty, or the driver's firmware",
        ),
        Pattern(
            r"NVRM: (?:BAR\d is 0M|This PCI I/O region|request_mem_region failed|The system BIOS may have)",
            FAIL,
            "a GPU got no address space on PCI, so that its driver cannot start it: Above 4G Decoding in the BIOS, "
            "pci=realloc, or another driver that holds its memory",
        ),
    ),
    links=("https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",),
)
GPU_DRIVER_FAILS = Card(
    id="gpu-driver-fails",
    title="NVML or CUDA does not answer",
    levels=(FAIL, UNKNOWN),
    about=(
        "NCCL asks NVML and CUDA for the GPUs and ends where one of them fails or hangs. The driver runs GPUs, and "
        "its library fails: mostly a GPU that fell off the bus, a driver that crashed, or a call that waits in the "
        "kernel, as nvidia-smi then does too. A container without device nodes has the same symptoms."
    ),
    effect="no job can use the GPUs of the node",
    remedy=(
        "drain the node; dmesg | grep -e NVRM -e Xid says why; end processes that hang in the driver and load its "
        "modules again, or restart the node"
    ),
    sure="nvidia-smi; ls -l /dev/nvidia*; dmesg | grep -e NVRM -e Xid",
    passes="NVML and CUDA answer",
    reads=("nvmlInit", "cuInit", "/sys/bus/pci/devices/*/driver", "/dev/nvidia*"),
    hints=("Failed to initialize NVML: Unknown Error",),
)
GPU_DRIVER_MISSING = Card(
    id="gpu-driver-missing",
    title="No driver runs the GPUs",
    levels=(INFO, FAIL, UNKNOWN),
    about=(
        "NVIDIA's GPUs are on PCI, and no kernel driver or only nouveau is bound to any of them: NVIDIA's modules are "
        "not installed, were not built for the running kernel, or did not load. FAIL on a model that is sold with GPUs "
        "and where --expect asks for GPUs; INFO elsewhere. A host that passes its GPUs to VMs (vfio-pci) is not meant."
    ),
    effect="no job can use the GPUs of the node",
    remedy=(
        "modprobe nvidia; dmesg says why it fails; after an update of the kernel: dkms status; build the modules again"
    ),
    sure="lspci -k -d 10de:; lsmod | grep nvidia",
    passes="a driver is bound to the GPUs",
    reads=("/sys/bus/pci/devices/*/driver", "nvmlInit"),
    shows=("NVRM: The NVIDIA probe routine was not called for 8 device(s).",),
    patterns=(
        Pattern(
            r"NVRM: (?:The NVIDIA probe routine was not called|No NVIDIA GPU found)",
            FAIL,
            "NVIDIA's driver got no GPU: another driver (nouveau, vfio-pci) holds them, or there is none on PCI",
        ),
        Pattern(
            r"NVRM: .*installed in this system is",
            FAIL,
            "NVIDIA's driver does not run this GPU: it is older than the GPU, no longer supports it, or is of the "
            "wrong kind (open or proprietary modules)",
        ),
        Pattern(
            r"modpost: .*\bnvidia|GPL-incompatible module nvidia|Unable to build the NVIDIA kernel module"
            r"|Bad return status for module build|performing the step: .Building kernel modules"
            r"|[Kk]ernel headers for kernel \S+ cannot be found|Could not resolve Linux kernel version",
            FAIL,
            "NVIDIA's driver does not build for the kernel that runs: a newer driver, or headers and compiler of this "
            "kernel",
        ),
        Pattern(
            r"Could not unload NVIDIA driver kernel modules|Module nvidia\w* is in use",
            FAIL,
            "the driver cannot be changed while programs use the GPUs: lsof /dev/nvidia* names them",
        ),
        Pattern(
            r"could not insert '?\"?nvidia(?!_peermem)\S*|\bnvidia: (?:version magic|Unknown symbol"
            r"|disagrees about version)",
            FAIL,
            "NVIDIA's module does not load: it was built for another kernel, is not signed (Secure Boot), or finds no "
            "GPU",
        ),
    ),
)
DUPLICATE_GPU = Card(
    id="duplicate-gpu",
    title="One GPU is used or listed twice",
    levels=(FAIL, UNKNOWN),
    about=(
        "NCCL compares the bus ids of all ranks on a host and refuses to start when two are equal. Mostly two ranks "
        "chose one GPU because LOCAL_RANK was not used; a topology file or a virtual machine may also list one GPU "
        "twice."
    ),
    remedy=(
        "torch.cuda.set_device(LOCAL_RANK) before the first collective, and one launcher that sets "
        "CUDA_VISIBLE_DEVICES; on several nodes give each container or VM its own GPU, and each host its own host id"
    ),
    sure="nvidia-smi -L; print torch.cuda.current_device() and LOCAL_RANK in each rank",
    passes="every GPU has its own UUID and bus id",
    reads=("nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo", "a topology file's <gpu>"),
    shows=(
        "NCCL WARN Duplicate GPU detected : rank 2 and rank 0 both on CUDA device 1000",
        "NCCL WARN Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1 ...",
    ),
    patterns=(
        Pattern(r"Duplicate GPU detected|[Mm]ultiple [Rr]anks (?:are )?using the same", FAIL, "two ranks use one GPU"),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1241", "https://github.com/horovod/horovod/issues/3929"),
)
MIG_ENABLED = Card(
    id="mig-enabled",
    title="A GPU is in MIG mode",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "A GPU in MIG mode is divided into instances with separate memory. NCCL gets no peer access between them, and "
        "older releases mistake two instances for one GPU used twice."
    ),
    effect="no P2P and no NVLink between its instances or to other GPUs: NCCL goes through host memory",
    remedy="nvidia-smi -i GPU -mig 0 for GPUs that collectives use",
    sure="nvidia-smi -L lists MIG devices",
    passes="no GPU is in MIG mode",
    reads=("nvmlDeviceGetMigMode",),
    shows=("NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",),
    shared_with=("duplicate-gpu",),
    links=("https://github.com/NVIDIA/nccl/issues/1716",),
)
COMPUTE_MODE = Card(
    id="compute-mode",
    title="A GPU takes one process at a time, or none",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "In compute mode Exclusive_Process the first process that opens a GPU has it alone; Prohibited keeps all away. "
        "Schedulers set the first by design, for one rank a GPU. A second rank, a server beside the job, or what an "
        "earlier job left running then ends with 'all CUDA-capable devices are busy or unavailable'. WARN where GPUs "
        "of one node differ."
    ),
    remedy="nvidia-smi -i GPU -c DEFAULT, unless the scheduler sets it by design; for several processes a GPU use MPS",
    sure="nvidia-smi --query-gpu=index,compute_mode --format=csv",
    passes="every GPU takes several processes",
    reads=("nvmlDeviceGetComputeMode",),
)
P2P_UNSUPPORTED = Card(
    id="p2p-unsupported",
    title="GPUs have no peer access",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "NVML says for each pair whether one GPU may access the other's memory. GeForce cards may not by design, and "
        "neither may pairs that the chipset cannot connect; data-centre GPUs on NVLink or below one switch should. "
        "NCCL then goes through host memory (SHM), or finds no transport at all where that is turned off."
    ),
    effect="NCCL uses shared memory on the host (SHM) between them",
    remedy=(
        "nothing on GeForce or where GPUs are far apart; otherwise check ACS and IOMMU in the BIOS and "
        "NVreg_RegistryDwords of the nvidia module, and look for NCCL_*_DISABLE; NCCL_P2P_DISABLE=1 shows whether P2P "
        "is the cause, NCCL_CUMEM_HOST_ENABLE=0 helps where shm.cc reports it"
    ),
    sure="nvidia-smi topo -p2p r and nvidia-smi topo -p2p w; railgauge topo paths shows each pair",
    passes="every pair of GPUs has peer access",
    reads=("nvmlDeviceGetP2PStatus",),
    shows=(
        "NCCL WARN P2P is disabled between NVLINK connected GPUs 1 and 0. This should not be the case given ...",
        "NCCL INFO P2P is disabled between connected GPUs 1 and 0. You can repress this message with "
        "NCCL_IGNORE_DISABLED_P2P=1.",
        "NCCL WARN Cuda failure 217 'peer access is not supported between these two devices'",
        "NCCL WARN No transport found for rank 2[b1000] -> rank 1[5e000]",
        "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct",
    ),
    patterns=(
        Pattern(
            r"(?i:custom[ _-]?all[ _-]?reduce (?:kernel )?(?:is |was )?(?:failed|disabled|not supported))",
            INFO,
            "the program does without its own all_reduce between GPUs, as they have no peer access or too few links; "
            "NCCL does the work",
        ),
        Pattern(
            r"[Cc]uda failure (?:217\b|'peer access is not supported)|peer access is not supported between",
            FAIL,
            "CUDA gives no peer access between two GPUs",
        ),
        Pattern(
            r"Peer GPU \d+ is not accessible",
            FAIL,
            "a program stops because a GPU may not access the memory of another one of the host (NVSHMEM asks for it "
            "unless a NIC with GPUDirect RDMA connects them)",
        ),
        Pattern(
            r"doesn't support faster communication broadband via P2P",
            FAIL,
            "the program stops because GPUs of this series have no P2P: it wants NCCL_P2P_DISABLE=1 and "
            "NCCL_IB_DISABLE=1, as accelerate launch sets them",
        ),
        Pattern(
            r"peer mapping resources exhausted|TOO_MANY_PEERS|[Cc]uda failure 711\b",
            FAIL,
            "CUDA lets a GPU have 8 peers in a process, and there are more: one process for each GPU, or fewer GPUs "
            "in one",
        ),
        Pattern(
            r"No transport found|has no transport for|Could not find transport|no transport for (?:send|recv)",
            FAIL,
            "no transport connects two ranks",
        ),
        Pattern(
            r"P2P is disabled between|\bDevice \d+ peer access Device \d+ is not available",
            WARN,
            "the driver gives no peer access between two GPUs of the host",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1309", "https://github.com/NVIDIA/nccl/issues/1637"),
)
GPU_NIC_FAR = Card(
    id="gpu-nic-far",
    title="A GPU is far from every NIC",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "GPUDirect RDMA is used up to path type PXB: GPU and NIC below one PCIe switch. A NIC in the wrong slot, or "
        "one that is missing, leaves its GPU with a NIC behind the root complex or on the other socket."
    ),
    remedy=(
        "move the NIC to the slot behind that GPU's switch; check whether a NIC is down or missing (ib-port-down); "
        "railgauge gdr check names the condition that fails for each GPU and NIC"
    ),
    sure="railgauge topo show --view matrix: PIX or PXB between each GPU and its NIC",
    passes="the GPUs are as near to a NIC as most of them, or none is behind a switch by design",
    reads=("/sys/bus/pci/devices", "/sys/class/infiniband"),
    shows=("Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0",),
    shared_with=("peermem-missing",),
    links=("https://github.com/NVIDIA/nccl/issues/246", "https://github.com/NVIDIA/nccl/issues/2097"),
)
NUMA_MISBOUND = Card(
    id="numa-misbound",
    title="A process may use no core next to its GPU",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "NCCL keeps a rank's threads on the cores next to its GPU, but only on those that the process may use. With a "
        "mask of the other socket it leaves them there. Check inside the launched process, not in a login shell."
    ),
    effect="proxies and host buffers work across the link between the sockets; NCCL does not widen the mask",
    remedy=(
        "mpirun --bind-to none or --map-by numa, srun --cpu-bind, a container's cpuset of the GPU's socket; railgauge "
        "topo bind writes the binding"
    ),
    sure="taskset -cp $$ in the job; nvidia-smi topo -m, column CPU Affinity",
    passes="this process may use cores next to every GPU",
    reads=("sched_getaffinity", "/sys/bus/pci/devices/*/numa_node", "/sys/devices/system/node/node*/cpulist"),
    shows=("NCCL INFO ncclTopoGetCpuAffinity: Affinity for GPU 0 is 0-3. (GPU affinity = 0-31 ; CPU affinity = 0-3).",),
    hints=("NCCL INFO Setting affinity for GPU 0 to 32-63",),
    links=("https://github.com/NVIDIA/nccl/issues/644", "https://github.com/NVIDIA/nccl-tests/issues/293"),
)
NUMA_NODE_MISSING = Card(
    id="numa-node-missing",
    title="The firmware names no NUMA node for some devices, or a wrong one",
    levels=(WARN, UNKNOWN),
    about=(
        "On a host with several NUMA nodes some GPUs or NICs have numa_node -1. NCCL takes -1 for a node of its own: "
        "paths from there to all others cross sockets (SYS), and the threads of those ranks are bound to no cores. A "
        "device with another node than the ports above it is taken for one of the other socket."
    ),
    effect="NCCL takes these devices as far from all others, and does not bind the threads of their ranks",
    remedy=(
        "update the BIOS (_PXM of the host bridges); until then set it as root: echo NODE > "
        "/sys/bus/pci/devices/DEVICE/numa_node, or NCCL_TOPO_FILE with the right numaid"
    ),
    sure="cat /sys/bus/pci/devices/*/numa_node: -1 beside devices that have a node",
    passes="every GPU and RDMA NIC has the NUMA node of its ports, or the host has one node only",
    reads=("/sys/bus/pci/devices/*/numa_node", "/sys/devices/system/node/node*/cpulist"),
)
CPU_GOVERNOR = Card(
    id="cpu-governor",
    title="The CPU clock is not kept up",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "NCCL's proxy threads sleep and wake for each chunk. With a governor that lowers the clock when idle, small "
        "messages take longer and vary. powersave of acpi-cpufreq is the lowest clock; of intel_pstate it is not."
    ),
    remedy="cpupower frequency-set -g performance",
    sure="cpupower frequency-info",
    passes="every core has the governor performance",
    reads=(
        "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        "/sys/devices/system/cpu/cpufreq/policy*/scaling_driver",
    ),
    links=("https://github.com/NVIDIA/nccl-tests/issues/293",),
)
