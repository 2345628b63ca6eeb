# SPDX-License-Identifier: Apache-2.0
"""Which program speaks in a line that no card knows, and what the line is about; by its words."""

import re

PROGRAMS = tuple(
    (re.compile(words), program)
    for words, program in (
        (r"nvidia-container|nvidia-ctk|libnvidia-container", "NVIDIA's container runtime"),
        (r"\bpyxis\b|\benroot\b|\bspank\b", "pyxis or enroot (containers of Slurm)"),
        (r"\bslurm\w*|\bsrun\b|\bsbatch\b", "Slurm"),
        (r"\bO(?:RTE|PAL)_|\bP(?:RTE|MIX)\b|\b(?:orted|prted|mpirun|prterun)\b", "Open MPI's launcher"),
        (r"\bhydra|HYDU_|HYDT_|\bmpiexec\b|pmi_proxy", "MPICH's launcher"),
        (r"(?i)\bnixl", "NIXL"),
        (r"(?i)mooncake|rdma_(?:endpoint|context)\.cpp|transfer_task\.cpp", "Mooncake"),
        (r"\bUCX\b|\buc[pts]_\w+", "UCX"),
        (r"\bUCC\b|\bucc_\w+", "UCC"),
        (r"(?i)nvshmem", "NVSHMEM"),
        (r"libfabric|\bofi_\w+|\bfi_\w+\(", "libfabric"),
        (r"(?i)\bgloo\b", "gloo"),
        (r"torch/distributed/elastic|elastic_launch|torchrun|torch\.distributed\.run", "torchrun"),
        (r"torch\.distributed|c10d|ProcessGroup", "PyTorch's distributed package"),
        (r"\braylet\b|\bray\.|\bgcs_\w+|core_worker|\bray::", "Ray"),
        (r"(?i)deepspeed", "DeepSpeed"),
        (r"(?i)\bvllm\b|EngineCore", "vLLM"),
        (r"(?i)\bsglang\b", "SGLang"),
        (r"(?i)\bxla\b|\bjax\w*\b", "XLA"),
        (r"(?i)\bhccl|torch_npu|\bE[A-Z]\d{4}: ", "Ascend's runtime"),
        (r"(?i)tensorrt", "TensorRT-LLM"),
        (r"(?i)mscclpp", "MSCCL++"),
        (r"(?i)tensorflow|horovod", "TensorFlow or Horovod"),
        (r"(?i)\bkubelet\b|\bkubectl\b|pods? \"", "Kubernetes"),
        (r"(?i)\bdocker\b|containerd|\brunc\b|\bOCI\b|podman|apptainer|singularity", "the container engine"),
        (r"(?i)fabric ?manager|nv-fabricmanager|nvlsm", "the fabric manager"),
        (r"(?i)\bmlx5|\birdma|\bbnxt_re", "a NIC's driver"),
        (r"(?:^|/)(?:ba|da|z)?sh: |\.sh: line \d+: ", "a shell script"),
        (r"\bssh(?:d|_\w+)?\b", "ssh"),
        (r"\bNVRM\b|(?i:nvidia-smi)", "NVIDIA's driver"),
    )
)
AREAS = tuple(
    (re.compile(words), area)
    for words, area in (
        (
            r"(?i)rdma|\bgids?\b|mlx\d|ibv_|infiniband|\brnic|\bhca\b|verbs|\broce|\bcxi|\befa\b|ofi_",
            "RDMA and its devices",
        ),
        (r"(?i)cuda|nvml|nvidia|\bgpus?\b|\bhip|rocm|nvlink|nvshmem", "GPUs and their driver"),
        (r"(?i)socket|connect|\bports?\b|\btcp|address|\bhosts?\b|dns|resolve|rendezvous", "connections between hosts"),
        (r"(?i)memory|alloc|\boom\b|\bshm\b", "memory"),
        (
            r"(?i)permission|denied|no such file|not found|librar|module|import|linked|\.so\b",
            "files, libraries and rights",
        ),
        (r"(?i)slurm|srun|\bmpi|\bpmi|\borte|\bprte|kube|\bpod\b|container", "the launcher or scheduler"),
    )
)
"""What an error is about whose cause is not known, by its words."""


def program_of(text: str) -> str:
    """The program that speaks in a line; "" if its words do not tell."""
    return next((program for words, program in PROGRAMS if words.search(text)), "")


def area_of(text: str) -> str:
    """What a line is about; "" if its words do not tell."""
    return next((area for words, area in AREAS if words.search(text)), "")
