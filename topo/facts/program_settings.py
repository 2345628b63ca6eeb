# SPDX-License-Identifier: Apache-2.0
"""The settings of programs that run with NCCL or in its place: RCCL and ROCm, PyTorch, CUDA, libfabric, UCX, plugins.

Names and defaults are RCCL's (its RCCL_PARAM and getenv; those since ROCm 6.4 from its change log), of HSA_* those in
the documentation of ROCR-Runtime, of the others those in the documentation of each. RCCL reads NCCL's settings too.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSetting:
    """One setting. default: "" if it depends on the machine. least, most: bounds of a number, None for any text."""

    name: str
    default: str
    meaning: str
    least: int | None
    most: int | None


def _parsed(table: str) -> dict[str, ProgramSetting]:
    rows = (tuple(part.strip() for part in line.split("|")) for line in table.strip().splitlines())
    return {name: _setting(name, span, default, meaning) for name, span, default, meaning in rows}


def _setting(name: str, span: str, default: str, meaning: str) -> ProgramSetting:
    least, _, most = span.partition("..")
    return ProgramSetting(
        name=name,
        default=default,
        meaning=meaning,
        least=int(least) if least else None,
        most=int(most) if most else None,
    )


PLUGINS = {
    "NCCL_FASTRAK_": "Google's FasTrak plugin",
    "NCCL_GPUDIRECTTCPX_": "Google's GPUDirect-TCPX plugin",
    "NCCL_SHIMNET_": "Google's plugin",
    "NCCL_IBEXT_": "the RDMA-SHARP plugin of HPC-X",
    "NCCL_PLUGIN_P2P": "the RDMA-SHARP plugin of HPC-X",
    "NCCL_SHARP_": "the RDMA-SHARP plugin of HPC-X",
    "NCCL_UCX_": "the RDMA-SHARP plugin of HPC-X",
    "NCCL_INSPECTOR_": "NCCL's inspector plugin",
    "NCCL_PROFILE_": "NCCL's example of a profiler plugin",
    "NCCL_TUNER_CONFIG": "a tuner plugin",
    "NCCL_CTRAN_": "NCCLX",
}
"""Plugins of NCCL by the begin of their settings."""
PROGRAMS = PLUGINS | {
    "AMD_": "ROCm",
    "CCL_": "oneCCL",
    "CUDA_": "CUDA",
    "FI_": "libfabric",
    "GLOO_": "Gloo",
    "GPU_MAX_HW_QUEUES": "ROCm",
    "HCCL_": "HCCL",
    "HCOLL_": "HCOLL",
    "HF_": "Hugging Face's libraries",
    "HIP_": "ROCm",
    "HOROVOD_": "Horovod",
    "HSA_": "ROCm's runtime",
    "I_MPI_": "Intel MPI",
    "MASTER_": "PyTorch",
    "MC_": "Mooncake",
    "MSCCL": "MSCCL",
    "MPICH_": "MPICH",
    "NVIDIA_": "NVIDIA's container runtime",
    "NVSHMEM_": "NVSHMEM",
    "NVTE_": "Transformer Engine",
    "OFI_NCCL_": "the aws-ofi-nccl plugin",
    "OMPI_": "Open MPI",
    "OMP_": "OpenMP",
    "PYTORCH_": "PyTorch",
    "RAY_": "Ray",
    "RCCL_": "RCCL",
    "ROCR_": "ROCm",
    "SGLANG_": "SGLang",
    "SHARP_": "SHARP",
    "TOKENIZERS_": "Hugging Face's libraries",
    "TORCHELASTIC_": "PyTorch",
    "TORCH_": "PyTorch",
    "TP_": "TensorPipe",
    "UCC_": "UCC",
    "UCX_": "UCX",
    "VLLM_": "vLLM",
    "WANDB_": "Weights & Biases",
}
"""Programs by the begin of their settings."""


def program_of(name: str) -> str | None:
    """The program that reads a setting; None for one of NCCL, or of no known program."""
    return next((program for prefix, program in PROGRAMS.items() if name.startswith(prefix)), None)


SETTINGS = _parsed("""
CUDA_DEVICE_MAX_CONNECTIONS | 1..32 | 8 | queues of work to a GPU; Megatron-LM sets 1 to keep kernels in order
CUDA_DEVICE_ORDER | | FASTEST_FIRST | PCI_BUS_ID numbers GPUs as nvidia-smi does
CUDA_LAUNCH_BLOCKING | 0..1 | 0 | 1 waits for each kernel: for debugging, it is slow and can deadlock collectives
CUDA_MODULE_LOADING | | LAZY | EAGER loads all kernels at the start
CUDA_VISIBLE_DEVICES | | | the GPUs that a process uses, in its order: NCCL sees no others
FI_EFA_FORK_SAFE | 0..1 | | 1 makes fork() safe; libfabric 1.13 and later find it out
FI_EFA_SET_CUDA_SYNC_MEMOPS | 0..1 | 1 | 0 leaves the memory operations of registered GPU memory asynchronous
FI_EFA_USE_DEVICE_RDMA | 0..1 | | 1 was needed for GPUDirect RDMA on P4d; libfabric 1.18 and later find it out
FI_EFA_USE_HUGE_PAGE | 0..1 | 1 | 0 avoids huge pages, which fork() of data loaders can exhaust
FI_PROVIDER | | | the providers that libfabric may use; efa on EFA
GLOO_SOCKET_IFNAME | | | the interface of Gloo
GPU_MAX_HW_QUEUES | 1.. | 4 | queues of a GPU for streams
HIP_VISIBLE_DEVICES | | | the GPUs that a process uses, as CUDA_VISIBLE_DEVICES does
HSA_CU_MASK | | | the compute units that queues may use
HSA_DISABLE_CACHE | 0..1 | 0 | 1 keeps the GPU's L2 cache off
HSA_ENABLE_DEBUG | 0..1 | 0 | 1 adds checks to the runtime
HSA_ENABLE_INTERRUPT | 0..1 | 1 | 0 polls memory instead of waiting for interrupts
HSA_ENABLE_IPC_MODE_LEGACY | 0..1 | | 1 shares GPU memory between processes by KFD's handles, 0 by DMA-BUF
HSA_ENABLE_PEER_SDMA | 0..1 | 1 | 0 copies between GPUs with kernels
HSA_ENABLE_SDMA | 0..1 | 1 | 0 copies with kernels, without the DMA engines
HSA_FORCE_FINE_GRAIN_PCIE | 0..1 | 0 | 1 makes peer access over PCIe coherent, which RCCL needs without XGMI
HSA_NO_SCRATCH_RECLAIM | 0..1 | 0 | 1 keeps scratch memory, which RCCL on MI300 needs for full speed
HSA_OVERRIDE_GFX_VERSION | | | the architecture that the runtime reports in place of the GPU's own
HSA_TOOLS_LIB | | | a library of tools that the runtime loads
HSA_XNACK | 0..1 | 0 | 1 lets GPUs retry page faults
OFI_NCCL_PROTOCOL | | | SENDRECV or RDMA, by the kind of instance
OMP_NUM_THREADS | 1.. | | threads of OpenMP in each process
PYTORCH_CUDA_ALLOC_CONF | | | PyTorch's allocator, e.g. expandable_segments:True
RCCL_CHANNEL_TUNING_ENABLE | 0..1 | | 0 keeps the channels that thread thresholds choose
RCCL_CLIQUE_ALLREDUCE_BYTE_LIMIT | 0.. | 0 | the largest all_reduce of clique kernels, in bytes
RCCL_CLIQUE_ALLREDUCE_NCHANNELS | 0.. | 0 | channels of clique kernels
RCCL_CLIQUE_IGNORE_TOPO | 0..1 | 0 | 1 uses clique kernels on any topology
RCCL_DIRECT_ALLGATHER_THRESHOLD | | | the largest message of the direct all_gather, in bytes
RCCL_DUMP_ROME_MODEL_FILE | | | a file that the matched model of the machine is written to
RCCL_ENABLE_CLIQUE | 0..1 | 0 | 1 enables clique kernels
RCCL_ENABLE_INTRANET | -2..1 | -2 | 1 uses NICs between GPUs of one node, 0 never
RCCL_ENABLE_SIGNALHANDLER | 0..1 | 0 | 1 prints the stack of a crash
RCCL_FORCE_ENABLE_DMABUF | 0..1 | 0 | 1 uses DMA-BUF without looking at the kernel
RCCL_FORCE_ENABLE_GDRDMA | -1..1 | -1 | 1 uses GPUDirect RDMA without a test of peer memory
RCCL_INTRANET_THRESHOLD | 0.. | 8388608 | the smallest message, in bytes, that NICs carry within a node
RCCL_KERNEL_COLL_TRACE_ENABLE | 0..1 | 0 | 1 traces collectives in kernels
RCCL_LL128_FORCE_ENABLE | 0..1 | 0 | 1 allows LL128 on any GPU
RCCL_LOG_LEVEL | 0.. | 1 | how much RCCL logs
RCCL_MODEL_MATCHING_DISABLE | 0..1 | 0 | 1 searches channels instead of taking those of known machines
RCCL_MSCCLPP_ENABLE | 0..1 | | 1 uses MSCCL++ for small messages
RCCL_MSCCLPP_THRESHOLD | 0.. | 1048576 | the largest message of MSCCL++, in bytes
RCCL_MSCCL_ENABLE | 0..1 | 1 | 0 disables MSCCL's algorithms
RCCL_MSCCL_ENABLE_SINGLE_PROCESS | 0..1 | 1 | 0 disables MSCCL where one process drives several GPUs
RCCL_MSCCL_FORCE_ENABLE | 0..1 | 0 | 1 uses MSCCL on any GPU
RCCL_MSCCL_FORCE_FULLOPS | 0..1 | 0 | 1 compiles all of MSCCL's operations
RCCL_MSCCL_WORK_FIFO_DEPTH | 1.. | 262144 | entries of MSCCL's queue of work
RCCL_NET_CONTIGUOUS_MEM | 0..1 | 0 | 1 takes contiguous memory for network buffers
RCCL_P2P_BATCH_ENABLE | 0..1 | 0 | 1 batches send and receive, for small messages of alltoall on up to 32 nodes
RCCL_P2P_BATCH_THRESHOLD | 0.. | | the largest message of batched send and receive, in bytes
RCCL_P2P_NET_DISABLE | 0..1 | 0 | 1 keeps send and receive off the NICs within a node
RCCL_P2P_NET_THRESHOLD | 0.. | 131072 | the largest message, in bytes, in network buffers of send and receive
RCCL_PIVOT_ALLTOALL_ENABLE | 0..1 | 1 | 0 disables the pivot algorithm of alltoall
RCCL_ROCR_PATH | | | the folder of libhsa-runtime64.so
RCCL_STACK_SIZE_OVERRIDE | 0.. | 0 | the stack of kernels in bytes; 0 leaves it
RCCL_TREES | | | trees given by hand
RCCL_UNROLL_FACTOR | 0.. | | how far kernels are unrolled
RCCL_USE_ROCM_SMI_LIB | 0..1 | 0 | 1 asks ROCm SMI for links instead of sysfs
ROCR_VISIBLE_DEVICES | | | the GPUs that a process sees, for all of ROCm
TORCH_DISTRIBUTED_DEBUG | | OFF | DETAIL checks that ranks call the same collectives, which costs time
TORCH_FR_BUFFER_SIZE | 0.. | 2000 | entries of the flight recorder; 0 keeps none
TORCH_NCCL_ASYNC_ERROR_HANDLING | 0..3 | 3 | after a failure: 0 nothing, 1 abort and end, 2 abort alone, 3 end alone
TORCH_NCCL_BLOCKING_WAIT | 0..1 | 0 | 1 makes wait() block and raise after the timeout
TORCH_NCCL_DUMP_ON_TIMEOUT | 0..1 | 1 | 1 writes flight records when a collective times out
TORCH_NCCL_ENABLE_MONITORING | 0..1 | 1 | 0 switches off the monitor that ends a process whose watchdog is stuck
TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC | 1.. | 480 | seconds after which a stuck watchdog ends the process
TORCH_NCCL_TRACE_BUFFER_SIZE | 0.. | 2000 | entries of the flight recorder; since 2.9 TORCH_FR_BUFFER_SIZE
UCX_IB_GID_INDEX | | auto | the GID that UCX uses on RoCE
UCX_IB_TRAFFIC_CLASS | | auto | the traffic class of UCX's packets
UCX_TLS | | all | the transports that UCX may use
""")
"""Those that are known, by name."""
