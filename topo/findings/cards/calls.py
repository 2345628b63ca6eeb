# SPDX-License-Identifier: Apache-2.0
"""Calls that fail in NCCL, RCCL and the programs around them, as their logs show (`log explain`)."""

from railgauge.topo.findings.card import FAIL, INFO, WARN, Card, Pattern

CUDA_ARCH_MISSING = Card(
    id="cuda-arch-missing",
    title="NCCL or the program was built without this GPU's architecture",
    levels=(FAIL,),
    about="A library holds kernels for the architectures that it was built for; CUDA finds none for this GPU in it.",
    remedy=(
        "use NCCL of a release and CUDA version that know the GPU (RTX 40 and H100 from CUDA 11.8, Blackwell from "
        "12.8), or build it with NVCC_GENCODE for its sm; check that no second libnccl.so is loaded"
    ),
    sure="nvidia-smi --query-gpu=compute_cap --format=csv; cuobjdump --list-elf libnccl.so | grep sm_",
    shows=("enqueue.cc:47 NCCL WARN Cuda failure 'named symbol not found'",),
    patterns=(
        Pattern(
            r"(?<!cudaErrorSymbolNotFound : )named symbol not found|no kernel image is available"
            r"|invalid device function"
            r"|[Cc]uda failure (?:98|209|500)\b|Unable to find code object|Cannot retrieve Static function"
            r"|kernel image is invalid"
            r"|invalid (?:kernel|image) file|hipError(?:NoBinaryForGpu|InvalidKernelFile|InvalidImage|SharedObject\w+)"
            r"|PTX JIT compilation failed|CUDA_ERROR_(?:INVALID_IMAGE|NO_BINARY_FOR_GPU)"
            r"|not compatible with the current PyTorch installation",
            FAIL,
            "CUDA finds no kernel for this GPU: the library was built without its architecture",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl-tests/issues/208", "https://github.com/NVIDIA/nccl/issues/1372"),
)
CUDA_START_FAILED = Card(
    id="cuda-start-failed",
    title="CUDA or HIP does not start in the process, or not on the GPU that it asks for",
    levels=(INFO, FAIL),
    about=(
        "The driver's library is not found, or starts no context: the process was forked after CUDA was used, sees "
        "no GPU, "
        "or lacks device files. Under WSL libcuda.so is in /usr/lib/wsl/lib."
    ),
    remedy=(
        "run nvidia-smi in the same container; start workers by spawn and not by fork; put the folder of libcuda.so.1 "
        "into LD_LIBRARY_PATH (WSL: /usr/lib/wsl/lib); check CUDA_VISIBLE_DEVICES"
    ),
    sure="python -c 'import ctypes; print(ctypes.CDLL(\"libcuda.so.1\").cuInit(0))' in the container prints 0",
    shows=(
        "NCCL WARN Cuda failure 'initialization error'",
        "misc/cudawrap.cc:90 NCCL WARN Failed to find CUDA library libcuda.so (NCCL_CUDA_PATH='') : libcuda.so: cannot "
        "open shared object file",
    ),
    patterns=(
        Pattern(
            r"invalid device ordinal|[Cc]uda failure 101\b|device < num_gpus|GPU device may be out of range"
            r"|[Ff]ailed to set (?:cuda|CUDA|HIP|GPU) device",
            FAIL,
            "a rank asks for a GPU by a number that its process does not have: more ranks on the host than GPUs that "
            "they see (CUDA_VISIBLE_DEVICES, -g, slots of the host file; of MIG a process sees one instance)",
        ),
        Pattern(
            r"(?i:initialize NVML:.*(?:could not load|library not found|not found)"
            r"|configure the NVIDIA Container Toolkit|docker default runtime to"
            r"|No devices found\. Waiting indefinitely)",
            FAIL,
            "NVIDIA's library is not in the container: its runtime is not NVIDIA's (nvidia-ctk runtime configure, "
            "runtimeClassName: nvidia), or the node has no driver",
        ),
        Pattern(
            r"(?i:initialize NVML: (?:Unknown Error|\w*ERROR_UNKNOWN))|nvmlInit\w*\(\) failed: Unknown Error",
            FAIL,
            "NVML gives no reason: mostly a container that lost its GPUs while it ran, as after systemctl "
            "daemon-reload on the host; start it again, with the devices named (--device=/dev/nvidia0, CDI)",
        ),
        Pattern(
            r"driver is a stub library|[Cc]uda failure 34\b|\bcu[A-Z]\w+\(.*error code 34\b"
            r"|PTX JIT compiler library not found",
            FAIL,
            "a library of NVIDIA's driver is missing in the process, or the stub that the CUDA toolkit has for linking "
            "is loaded in its place: leave stubs out of LD_LIBRARY_PATH; a container gets the library from NVIDIA's "
            "runtime (NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
        ),
        Pattern(
            r"\bMPS\b.*(?:failed|not ready|terminated)|number of connections for MPS|valid Grid license",
            FAIL,
            "what stands between the process and the GPU does not work: CUDA's MPS server (its daemon, its pipe in "
            "CUDA_MPS_PIPE_DIRECTORY, its limit of clients), or a virtual GPU without a licence",
        ),
        Pattern(
            r"device\(s\) is/are busy|CUDA-capable device.{0,20} busy or unavailable|cudaErrorDevicesUnavailable"
            r"|[Cc]uda failure 46\b",
            FAIL,
            "a GPU takes no further process: another one holds it alone (compute mode Exclusive_Process), or it needs "
            "a reset, as dmesg then says",
        ),
        Pattern(
            r"[Cc]uda failure.*initialization error|[Cc]uda failure (?:3|100)\b|no CUDA-capable device"
            r"|CUDA driver initialization failed"
            r"|No CUDA GPUs are available"
            r"|Found no NVIDIA driver|No CUDA runtime is found|no GPUs found!"
            r"|could not select device driver|Cannot re-initialize CUDA in forked",
            FAIL,
            "CUDA does not start in the process: forked after CUDA was used, or no usable GPU is visible",
        ),
        Pattern(
            r"(?i:NVIDIA Driver was not detected|(?<!\.ko )driver not loaded"
            r"|couldn't communicate with the NVIDIA driver)",
            FAIL,
            "no driver of NVIDIA's runs on the node, or it is not in the container, which gets it from NVIDIA's "
            "runtime: the module is not loaded or not built for this kernel (dkms status), or Secure Boot forbids it",
        ),
        Pattern(
            r"(?:[Cc]uda|CUDA)\b.{0,80}(?:'unknown error'|: unknown error)|cudaErrorUnknown|CUDA_ERROR_UNKNOWN"
            r"|[Cc]uda failure "
            r"999\b",
            FAIL,
            "CUDA gives no reason (unknown error): mostly nvidia_uvm is not loaded on the node, its device files are "
            "not "
            "in the container, or the driver was updated or hung while it was in use",
            general=1,
        ),
        Pattern(
            r"Failed to set mem policy for GPU|hsa_init (?:\w+ )?[Ff]ailed",
            FAIL,
            "ROCm's runtime (HSA) does not start: /dev/kfd may not be opened, or a GPU that the kernel lists has no "
            "device node here (a container is given some of /dev/dri: give it all, and choose by ROCR_VISIBLE_DEVICES)",
        ),
        Pattern(
            r"hipError(?:InvalidDevice|NoDevice)|HIP.*no (?:ROCm|HIP)-capable device"
            r"|/dev/kfd\b.*(?:denied|No such|not |fail)|No HIP GPUs are available|ROCk module is NOT loaded",
            FAIL,
            "HIP finds no usable GPU: the container needs /dev/kfd and /dev/dri, and the user the groups video and "
            "render",
        ),
        Pattern(
            r"Failed to (?:find|load|open) (?:CUDA|ROCm|HIP)(?! IPC)|libcuda\.so\S* ?: ?cannot open"
            r"|cuDriverGetVersion failed|Failed to load ROCr"
            r"|libamdhip64\S*: cannot",
            FAIL,
            "the library of the GPU's driver is not found or incomplete (WSL keeps libcuda in /usr/lib/wsl/lib)",
        ),
        Pattern(
            r"Failed to initialize NVML: \S",
            FAIL,
            "NVIDIA's driver does not answer its tools: it is not loaded, or on WSL not the one of Windows",
            general=1,
        ),
        Pattern(
            r"nvmlDeviceGetHandleBy\w+(?:\(\))?.*(?:Not Found|NOT_FOUND)|Unable to (?:find|determine) .*by PCI bus",
            FAIL,
            "NVML does not find a GPU at its PCI address: this process is not shown the GPU that another rank of the "
            "host uses (other containers' GPUs: NVIDIA_VISIBLE_DEVICES, MIG), or it fell off the bus",
            general=1,
        ),
        Pattern(
            r"nvmlDeviceGetP2PStatus\(.*failed",
            FAIL,
            "the driver does not say which GPUs reach each other, as of virtual GPUs (vGPU), WSL and MIG",
        ),
        Pattern(
            r"Failed to open libnvidia-ml|(?i:failed to initialize NVML)"
            r"|nvml\w+\(.*failed|NVML failure|No NVML device|nvmlwrap|ROCm SMI init|ARSMI"
            r"|rocm_smi|hsa_system_get_info",
            FAIL,
            "the library that lists GPUs (NVML, ROCm SMI) is not found or fails",
            general=2,
        ),
    ),
)
GPU_MEMORY_FULL = Card(
    id="gpu-memory-full",
    title="A GPU's memory is full",
    levels=(FAIL,),
    about=(
        "NCCL takes some memory of each GPU for each communicator and channel when it starts; the program had it all."
    ),
    remedy=(
        "leave NCCL some memory (a smaller batch, gpu_memory_utilization, expandable segments), fewer communicators, a "
        "smaller NCCL_BUFFSIZE or NCCL_MAX_NCHANNELS; end other processes on the GPU"
    ),
    sure="nvidia-smi while the job starts",
    shows=("include/alloc.h:204 NCCL WARN Cuda failure 2 'out of memory'",),
    patterns=(
        Pattern(
            r"^(?!.*more than 1EB).*?(?:"
            r"(?:[Cc]uda|CUDA|HIP|hip).*(?:(?<!running )(?<!ran )out of memory|OUT_OF_MEMORY|OutOfMemory)"
            r"|[Cc]uda failure 2\b|Failed to CUDA (?:m|c)alloc|RESOURCE_EXHAUSTED: Out of memory"
            r"|ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"
            r"|Free memory on device.*less than|(?<!ray\.exceptions\.)OutOfMemoryError)",
            FAIL,
            "no memory left on a GPU",
        ),
    ),
)
SHM_REGISTER_FAILED = Card(
    id="shm-register-failed",
    title="CUDA cannot use a segment of shared memory",
    levels=(FAIL,),
    about=(
        "Ranks of one host without P2P exchange data through shared memory, which CUDA maps for the GPU. It refuses "
        "that "
        "where pages cannot be locked, where the segment is gone, or in containers that are restricted."
    ),
    remedy=(
        "ulimit -l unlimited and --ipc=host in the container; update NCCL and the driver; NCCL_SHM_DISABLE=1 or "
        "NCCL_CUMEM_HOST_ENABLE=0 as a test"
    ),
    shows=("include/shm.h:42 NCCL WARN Cuda failure 'invalid argument'",),
    patterns=(
        Pattern(
            r"shm(?:utils)?\.\w+:\d+ .*(?:Cuda|CUDA|HIP) failure.*(?:invalid argument|already mapped|not supported$)"
            r"|failed to register host buffer|failed to get device pointer for local shmem",
            FAIL,
            "CUDA cannot map a segment of shared memory (SHM) for the GPU",
        ),
    ),
    links=("https://github.com/horovod/horovod/issues/893",),
)
CUDA_FAILURE = Card(
    id="cuda-failure",
    title="A call of CUDA or HIP failed",
    levels=(INFO, FAIL),
    about=(
        "Errors of CUDA come late: an illegal access or a launch failure may be of any kernel that ran before, of the "
        "program or of NCCL. The text in quotes is CUDA's."
    ),
    remedy=(
        "run with CUDA_LAUNCH_BLOCKING=1 and under compute-sanitizer for illegal accesses and launch failures; dmesg "
        "(Xid) "
        "for errors of the GPU itself"
    ),
    sure="dmesg | grep -i xid; the first error in time, over the logs of all ranks",
    shows=(
        "transport/net.cc:80 NCCL WARN Cuda failure 700 'an illegal memory access was encountered'",
        "init.cpp:90 NCCL WARN HIP failure 'invalid device pointer'",
    ),
    patterns=(
        Pattern(
            r"over nvlink or a hardware error|uncorrectable NVLink|CUDA_ERROR_CONTAINED"
            r"|[Cc]uda(?:ErrorContained| failure 226\b)",
            FAIL,
            "an access over NVLink failed: the fabric or a GPU at its other end is faulty, or the peer's memory is "
            "gone; Xids in dmesg of both tell",
        ),
        Pattern(
            r"not permitted when stream is capturing",
            FAIL,
            "a call was made that a CUDA graph cannot hold while it was captured: an allocation, a synchronization, or "
            "another thread's work on the GPU",
        ),
        Pattern(
            r"failed due to a previous error during capture",
            FAIL,
            "the capture of a CUDA graph failed of an error before in it: a call that it cannot hold, or no memory",
            follows=True,
        ),
        Pattern(
            r"(?:[Cc]uda|CUDA|HIP|hip)\b.*invalid resource handle",
            FAIL,
            "a stream, an event or memory is used that is of another GPU or process, or was destroyed: the process has "
            "not set its device before the call, or it imports memory of a peer with which it shares no IMEX domain",
        ),
        Pattern(
            r"Invalid access of peer GPU memory|Memory access fault by GPU"
            r"|illegal memory access|unspecified launch failure|misaligned address|device-side assert triggered"
            r"|illegal instruction",
            FAIL,
            "a kernel crashed on the GPU, of the program or of NCCL: CUDA reports it at a later call",
            general=1,
        ),
        Pattern(
            r"HSA_STATUS_ERROR_OUT_OF_RESOURCES",
            FAIL,
            "ROCm's runtime (HSA) gets no queue, event or memory from the driver: other processes hold them, a GPU "
            "hangs, "
            "or a limit of the container; dmesg has what amdgpu says",
        ),
        Pattern(
            r"HSA_STATUS_ERROR_\w+",
            FAIL,
            "ROCm's runtime (HSA) fails: the line has its status",
            general=1,
        ),
        Pattern(
            r"hsa api call failure",
            FAIL,
            "a call of ROCm's runtime (HSA) fails: the line below it has its status",
            general=1,
            follows=True,
        ),
        Pattern(
            r"uncorrectable ECC|(?<!Add )NVLink (?:error|was detected)"
            r"|hardware stack error|reason *: ?GPU Hang"
            r"|amdgpu.*(?:[Uu]ncorrectable hardware error|Fatal error during GPU init|GPU reset (?:begin|failed)"
            r"|ring \S+ timeout|hw_init of IP block \S+ failed)|\[amdgpu\]\] \*ERROR\* (?!.*(?:DMUB|dmub|display|HDMI"
            r"|DP ))",
            FAIL,
            "the GPU itself reports an error",
        ),
        Pattern(
            r"ZE_RESULT_ERROR_(?!OUT_OF_DEVICE_MEM)\w+",
            FAIL,
            "a call of Level Zero, which drives Intel's GPUs, failed: the line has its result",
            general=1,
        ),
        Pattern(
            r"mapping of buffer object failed|[Cc]uda failure 205\b",
            FAIL,
            "memory of a GPU cannot be mapped where it is wanted: for another GPU without P2P between the two, beyond "
            "what its BAR1 has room for, or by a driver that was changed to allow it",
            general=1,
        ),
        Pattern(
            r"C(?:uda|UDA) (?:failure|error).*operation not supported",
            FAIL,
            "the driver does not support a call of CUDA here: a virtual GPU (vGPU) without unified memory, WSL, or a "
            "driver older than this CUDA",
            general=1,
        ),
        Pattern(
            r"(?:[Ff]ail|rror|FATAL|Fatal).{0,80}(?:CUDA IPC|IPC handle|ipc mem handle|\w+Ipc[A-Z]|cuMem(?:Im|Ex)port"
            r"|cuMemMap|to create ipc\b)"
            r"|(?:\w+Ipc[A-Z]|IPC handle|cuMem(?:Im|Ex)port|cuMemMap).{0,80}(?:fail|rror|returned)"
            r"|all_reduce\.cuh:\d+ 'inv",
            FAIL,
            "a GPU's memory cannot be shared with another process of the host (IPC)",
            general=1,
        ),
        Pattern(
            r"hipIpc|cudaIpc|CUDA IPC|IPC handle|cuMemImport|cuMemExport|cuMemMap|ncclCuMem|cuIpc",
            FAIL,
            "a GPU's memory cannot be shared with another process of the host (IPC)",
            general=2,
        ),
        Pattern(
            r"(?:[Cc]uda|CUDA|HIP|ROCr) (?:failure|error|Error|call)|hip[A-Z]\w+ |cu(?:da)?[A-Z]\w+(?:\(\))? "
            r"(?:failed|returned)"
            r"|CUMEM|CUDA (?:context|device)|failed to peer|unhandled cuda error|ncclUnhandledCudaError"
            r"|(?:device|host)Stream error",
            FAIL,
            "a call of CUDA or HIP failed",
            general=2,
        ),
    ),
)
FINE_GRAIN_PCIE_OFF = Card(
    id="fine-grain-pcie-off",
    title="HSA_FORCE_FINE_GRAIN_PCIE is not set",
    levels=(WARN,),
    about="RCCL asks for it on machines whose GPUs are joined by PCIe; without it P2P is slow, or a job hangs.",
    remedy="export HSA_FORCE_FINE_GRAIN_PCIE=1 for every rank",
    shows=(
        'NCCL WARN Missing "HSA_FORCE_FINE_GRAIN_PCIE=1" from environment which can lead to low RCCL performance, '
        "system instablity or hang!",
    ),
    patterns=(
        Pattern(
            r"Missing .HSA_|HSA_NO_SCRATCH_RECLAIM\S* (?:must|should|is not)|NUMA auto balancing",
            WARN,
            "RCCL asks for settings of the machine that are missing: P2P may be slow or hang",
        ),
    ),
    links=("https://github.com/ROCm/rccl/issues/1026",),
)
SOCKET_FAILED = Card(
    id="socket-failed",
    title="NCCL's sockets between ranks fail",
    levels=(INFO, FAIL),
    about="All ranks talk over TCP when a communicator starts (bootstrap), and without RDMA also for data.",
    remedy=(
        "check that all ranks use interfaces of one network (NCCL_SOCKET_IFNAME) and that no rank had ended before; "
        "keep scanners and probes off the ports that the kernel chooses (ip_local_port_range)"
    ),
    sure="NCCL_DEBUG=INFO: 'Bootstrap : Using' of all ranks; railgauge cluster reach",
    shows=("misc/socket.cc:700 NCCL WARN ncclSocketAccept: wrong socket state 3",),
    patterns=(
        Pattern(
            r"wrong magic",
            FAIL,
            "what connected to a port of NCCL is no rank of this communicator: a scanner, a metrics probe (an HTTP "
            "GET), or a rank of another job",
        ),
        Pattern(
            r"Accept failed: Interrupted system call",
            FAIL,
            "a signal interrupted the start of a communicator, which NCCL before 2.27.3 does not try again",
        ),
        Pattern(
            r"(?:[Aa]ccept|recv|send|[Pp]oll\w*|[Cc]onnect\w*).{0,80}: Bad file descriptor",
            FAIL,
            "a socket was closed while NCCL still waited on it: by a thread that aborted NCCL, or by the program",
            common=True,
        ),
        Pattern(
            r"(?i:socket|bootstrap|(?<!/)\bNet : |accept failed|\bpoll(?:ing)? failed|NCCL_COMM_ID|connect to|ifname"
            r"|network address|unique ?id|wrong magic)",
            FAIL,
            "NCCL's sockets between ranks fail",
            general=2,
        ),
    ),
)
