# SPDX-License-Identifier: Apache-2.0
"""Files that ranks read and write: their file systems, disks and GPUDirect Storage (`log explain`)."""

from railgauge.topo.findings.card import FAIL, INFO, WARN, Card, Pattern

STORAGE_STALLS = Card(
    id="storage-stalls",
    title="A file system does not answer, or a disk fails",
    levels=(INFO, WARN, FAIL),
    about=(
        "Ranks that read data or write checkpoints wait in the kernel while a server of NFS or Lustre is away; the "
        "others wait for them in a collective, and the watchdog ends the job."
    ),
    remedy="see to the server or the network to it; a disk with I/O errors: replace it; then start the job again",
    sure="df -h of the mount on each node; lfs check servers; smartctl -a; nvme smart-log",
    shows=("nfs: server nfs01 not responding, timed out",),
    patterns=(
        Pattern(
            r"\b(?:nfs|NFS): server \S+ not responding|(?i:stale (?:nfs )?file handle)|LustreError:"
            r"|Lustre: .*(?:was lost|evicted)|\bceph: .*(?:hung|lost|blacklisted)"
            r"|BeeGFS.*(?:not reachable|[Cc]ommunication error)|Transport endpoint is not connected",
            FAIL,
            "a shared file system does not answer on a node: ranks that use it wait",
        ),
        Pattern(
            r"\bI/O error, dev |EXT4-fs error|XFS \([^)]*\): .*(?:[Cc]orrupt|[Ss]hutting [Dd]own|I/O error)"
            r"|BTRFS (?:error|critical)"
            r"|nvme\S* .*(?:timeout, (?:aborting|reset)|controller is down)|[Rr]emounting filesystem read-only",
            FAIL,
            "a disk or its file system on a node fails",
        ),
    ),
)
GDS_FAILED = Card(
    id="gds-failed",
    title="GPUDirect Storage (cuFile, nvidia-fs) does not work",
    levels=(INFO, WARN, FAIL),
    about=(
        "cuFile reads files straight into GPU memory where the module nvidia-fs runs and the drivers of disks and file "
        "systems know it. Elsewhere it goes on through host memory, unless cufile.json forbids that."
    ),
    remedy=(
        "modprobe nvidia-fs; NVIDIA's OFED or DOCA with its nvme module and nvidia_peermem; or allow_compat_mode in "
        "cufile.json, which is slower"
    ),
    sure="gdscheck -p; lsmod | grep nvidia_fs; tail cufile.log",
    shows=("ERROR  cufio-fs:204 NVMe Driver not registered with nvidia-fs!!!",),
    patterns=(
        Pattern(
            r"nvidia-fs\.ko driver not loaded",
            FAIL,
            "the module nvidia-fs is not loaded",
        ),
        Pattern(
            r"[Dd]river not registered with nvidia-fs",
            FAIL,
            "the driver of a disk or file system does not know nvidia-fs: the kernel's own nvme module runs, and not "
            "that of NVIDIA's OFED or DOCA",
        ),
        Pattern(
            r"Inc-bar-usage failed",
            FAIL,
            "the GPU's BAR1 has no room for the buffers: fewer or smaller ones (max_device_cache_size_kb in "
            "cufile.json), or a GPU with a large BAR",
        ),
        Pattern(
            r"nvidia-fs MAP ioctl failed",
            FAIL,
            "nvidia-fs cannot pin this GPU's memory: a consumer GPU, or a driver other than the module was built for",
        ),
        Pattern(
            r"\bERROR +(?:cufio[\w-]*|0):\d+ |nvidia-fs:.*(?:[Ff]ail|rror)",
            FAIL,
            "GPUDirect Storage reports an error: the line has its reason",
            general=1,
        ),
    ),
)
