# SPDX-License-Identifier: Apache-2.0
"""The settings of RCCL and of ROCm's runtime (HSA) that change collectives on AMD GPUs.

Names and defaults are RCCL's (its RCCL_PARAM and getenv), and of HSA_* those in the documentation of ROCR-Runtime. RCCL
reads NCCL's settings too.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RocmSetting:
    """One setting. default: "" if it depends on the machine. least, most: bounds of a number, None for any text."""

    name: str
    default: str
    meaning: str
    least: int | None
    most: int | None


def _parsed(table: str) -> dict[str, RocmSetting]:
    rows = (tuple(part.strip() for part in line.split("|")) for line in table.strip().splitlines())
    return {name: _setting(name, span, default, meaning) for name, span, default, meaning in rows}


def _setting(name: str, span: str, default: str, meaning: str) -> RocmSetting:
    least, _, most = span.partition("..")
    return RocmSetting(
        name=name,
        default=default,
        meaning=meaning,
        least=int(least) if least else None,
        most=int(most) if most else None,
    )


ROCM = _parsed("""
HSA_CU_MASK | | | the compute units that queues may use
HSA_DISABLE_CACHE | 0..1 | 0 | 1 keeps the GPU's L2 cache off
HSA_ENABLE_DEBUG | 0..1 | 0 | 1 adds checks to the runtime
HSA_ENABLE_IPC_MODE_LEGACY | 0..1 | | 1 shares GPU memory between processes by KFD's handles, 0 by DMA-BUF
HSA_ENABLE_INTERRUPT | 0..1 | 1 | 0 polls memory instead of waiting for interrupts
HSA_ENABLE_PEER_SDMA | 0..1 | 1 | 0 copies between GPUs with kernels
HSA_ENABLE_SDMA | 0..1 | 1 | 0 copies with kernels, without the DMA engines
HSA_FORCE_FINE_GRAIN_PCIE | 0..1 | 0 | 1 makes peer access over PCIe coherent, which RCCL needs without XGMI
HSA_NO_SCRATCH_RECLAIM | 0..1 | 0 | 1 keeps scratch memory, which RCCL on MI300 needs for full speed
HSA_OVERRIDE_GFX_VERSION | | | the architecture that the runtime reports in place of the GPU's own
HSA_TOOLS_LIB | | | a library of tools that the runtime loads
HSA_XNACK | 0..1 | 0 | 1 lets GPUs retry page faults
RCCL_CLIQUE_ALLREDUCE_BYTE_LIMIT | 0.. | 0 | the largest all_reduce of clique kernels, in bytes
RCCL_CLIQUE_ALLREDUCE_NCHANNELS | 0.. | 0 | channels of clique kernels
RCCL_CLIQUE_IGNORE_TOPO | 0..1 | 0 | 1 uses clique kernels on any topology
RCCL_DUMP_ROME_MODEL_FILE | | | a file that the matched model of the machine is written to
RCCL_ENABLE_CLIQUE | 0..1 | 0 | 1 enables clique kernels
RCCL_ENABLE_INTRANET | -2..1 | -2 | 1 uses NICs between GPUs of one node, 0 never
RCCL_ENABLE_SIGNALHANDLER | 0..1 | 0 | 1 prints the stack of a crash
RCCL_FORCE_ENABLE_GDRDMA | -1..1 | -1 | 1 uses GPUDirect RDMA without a test of peer memory
RCCL_INTRANET_THRESHOLD | 0.. | 8388608 | the smallest message, in bytes, that NICs carry within a node
RCCL_KERNEL_COLL_TRACE_ENABLE | 0..1 | 0 | 1 traces collectives in kernels
RCCL_LL128_FORCE_ENABLE | 0..1 | 0 | 1 allows LL128 on any GPU
RCCL_MODEL_MATCHING_DISABLE | 0..1 | 0 | 1 searches channels instead of taking those of known machines
RCCL_MSCCLPP_ENABLE | 0..1 | | 1 uses MSCCL++ for small messages
RCCL_MSCCLPP_THRESHOLD | 0.. | 1048576 | the largest message of MSCCL++, in bytes
RCCL_MSCCL_ENABLE | 0..1 | 1 | 0 disables MSCCL's algorithms
RCCL_MSCCL_ENABLE_SINGLE_PROCESS | 0..1 | 1 | 0 disables MSCCL where one process drives several GPUs
RCCL_MSCCL_FORCE_ENABLE | 0..1 | 0 | 1 uses MSCCL on any GPU
RCCL_MSCCL_FORCE_FULLOPS | 0..1 | 0 | 1 compiles all of MSCCL's operations
RCCL_MSCCL_WORK_FIFO_DEPTH | 1.. | 262144 | entries of MSCCL's queue of work
RCCL_NET_CONTIGUOUS_MEM | 0..1 | 0 | 1 takes contiguous memory for network buffers
RCCL_P2P_NET_DISABLE | 0..1 | 0 | 1 keeps send and receive off the NICs within a node
RCCL_P2P_NET_THRESHOLD | 0.. | 131072 | the largest message, in bytes, in network buffers of send and receive
RCCL_PIVOT_ALLTOALL_ENABLE | 0..1 | 1 | 0 disables the pivot algorithm of alltoall
RCCL_ROCR_PATH | | | the folder of libhsa-runtime64.so
RCCL_STACK_SIZE_OVERRIDE | 0.. | 0 | the stack of kernels in bytes; 0 leaves it
RCCL_TREES | | | trees given by hand
RCCL_USE_ROCM_SMI_LIB | 0..1 | 0 | 1 asks ROCm SMI for links instead of sysfs
""")
"""All by name."""
