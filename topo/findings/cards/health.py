# SPDX-License-Identifier: Apache-2.0
"""What NVML, the kernel's log and the drivers of NICs report of the state of devices."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

GPU_XID = Card(
    id="gpu-xid",
    title="The driver reported an Xid, an error of a GPU",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "NVIDIA's driver writes an Xid to the kernel's log when a GPU, its memory, its links or a program on it fails. "
        "The number says which. FAIL: the catalogue asks for a reset, a restart or a repair, so the node must take no "
        "more jobs; WARN: a job was lost, or a fault may follow; INFO: a program's own error, or a follow-up of "
        "another Xid. What came before the driver reported the GPU as recovered (Xid 154) is INFO."
    ),
    remedy=(
        "do what the message says; nvidia-smi -r -i GPU resets a GPU that no process uses; all GPUs of an NVSwitch "
        "system are reset together"
    ),
    sure="dmesg | grep Xid; the table of numbers in docs/reference/xid.md",
    passes="the kernel's log has no Xid since boot",
    reads=("/dev/kmsg", "journalctl -k -b", "a file (--dmesg FILE)"),
    shows=(
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:18:00): 48, pid=4711, name=python3, An uncorrectable double bit error (DBE) has been "
        "detected on GPU",
        "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 01 (0x021425c6 0x00000000)",
    ),
    links=("https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",),
)
NVSWITCH_SXID = Card(
    id="nvswitch-sxid",
    title="The driver reported an SXid, an error of an NVSwitch",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "The driver of NVSwitches writes an SXid to the kernel's log, and whether it is fatal. After a fatal one "
        "NVLink traffic through that port or switch stops, and the fabric manager may take GPUs out of the fabric."
    ),
    remedy=(
        "fatal: drain the node, reset all GPUs and NVSwitches or restart it, and restart the fabric manager; replace "
        "the board if it returns"
    ),
    sure="dmesg | grep SXid; /var/log/fabricmanager.log",
    passes="the kernel's log has no SXid since boot",
    reads=("/dev/kmsg", "journalctl -k -b", "a file (--dmesg FILE)"),
    shows=("nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",),
    links=("https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",),
)
GPU_MEMORY_ERRORS = Card(
    id="gpu-memory-errors",
    title="A GPU counts memory errors (ECC)",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "ECC corrects single bits and finds double ones. Volatile counts begin at 0 when the driver starts, aggregate "
        "ones are of the GPU's life. An uncorrectable error since the driver started ends jobs, and the GPU needs a "
        "reset before the next; NVML also says when a GPU has so many errors in its caches (SRAM) that it is to be "
        "replaced."
    ),
    remedy=(
        "uncorrectable: drain the node and reset the GPU (nvidia-smi -r); have it replaced if errors return or the "
        "SRAM threshold is exceeded; ECC off: nvidia-smi -e 1 and a reset"
    ),
    sure="nvidia-smi -q -d ECC",
    passes="no GPU counts uncorrectable errors, and ECC is on",
    reads=("nvmlDeviceGetMemoryErrorCounter", "nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetEccMode"),
)
GPU_ROW_REMAP = Card(
    id="gpu-row-remap",
    title="A GPU has remapped memory rows, or must or cannot remap one",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "From Ampere on a GPU replaces a faulty memory row by a spare one at its next reset. Pending: the row is still "
        "in use until then. Failed: the bank has no spare row left, which is a reason to have the GPU replaced."
    ),
    remedy="pending: drain the node and reset the GPU (nvidia-smi -r); failed: have the GPU replaced",
    sure="nvidia-smi -q -d ROW_REMAPPER",
    passes="no row was remapped, none is pending, and every bank has spare rows",
    reads=("nvmlDeviceGetRemappedRows", "nvmlDeviceGetRowRemapperHistogram"),
    links=("https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",),
)
GPU_PAGES_RETIRED = Card(
    id="gpu-pages-retired",
    title="A GPU has retired memory pages",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Before Ampere the driver takes a faulty memory page out of use when it starts again. NVIDIA replaces GPUs "
        "with 60 retired pages or more."
    ),
    remedy="pending: drain the node and reset the GPU (nvidia-smi -r); 60 pages: have the GPU replaced",
    sure="nvidia-smi -q -d PAGE_RETIREMENT",
    passes="no page is retired, and none is pending",
    reads=("nvmlDeviceGetRetiredPages", "nvmlDeviceGetRetiredPagesPendingStatus"),
    links=("https://docs.nvidia.com/deploy/dynamic-page-retirement/index.html",),
)
GPU_RECOVERY_NEEDED = Card(
    id="gpu-recovery-needed",
    title="The driver asks for a reset of a GPU or a restart",
    levels=(FAIL, UNKNOWN),
    about="After a fault the driver says what the GPU needs before it can be used again; Xid 154 logs each change.",
    remedy="drain the node, then do what the driver asks for: nvidia-smi -r, or a restart",
    sure="nvidia-smi -q | grep -A2 'GPU Recovery Action'",
    passes="the driver asks for no recovery of any GPU",
    reads=("NVML_FI_DEV_GET_GPU_RECOVERY_ACTION",),
    shows=("NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062)",),
    patterns=(
        Pattern(
            r"NV_ERR_RESET_REQUIRED|NVRM: .*(?:unexpected WPR2|may need to be reset|requiring os reboot)",
            FAIL,
            "the driver does nothing more on a GPU until that is reset",
        ),
    ),
)
NVLINK_ERRORS = Card(
    id="nvlink-errors",
    title="NVLinks count errors",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "A damaged packet is sent again (replay), and a link that fails is trained again (recovery): both cost time "
        "and warn of a link that will be lost. Counts add up since the last reset, so only their rise shows the "
        "present; links from Blackwell on report bit error rates too."
    ),
    remedy="reset the GPUs; reseat the bridge, board or cable of a link whose errors rise, then replace it",
    sure="nvidia-smi nvlink -e; railgauge check -r 2 --only nvlink-errors while a job runs",
    passes="no NVLink counts errors",
    reads=("NVML_FI_DEV_NVLINK_ERROR_DL_*", "NVML_FI_DEV_NVLINK_COUNT_*", "nvmlDeviceGetNvLinkErrorCounter"),
)
PCIE_REPLAYS = Card(
    id="pcie-replays",
    title="A GPU's PCIe link sends packets again",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "A packet that arrives damaged is sent again. A few since boot are harmless; a count that rises warns of a "
        "slot, riser or cable, and the link may train down to fewer lanes."
    ),
    remedy="reseat the GPU, riser or cable; update the firmware; try another slot to tell which part is at fault",
    sure="nvidia-smi -q | grep -i replay; railgauge check -r 2 --only pcie-replays while a job runs",
    passes="no GPU counts PCIe replays",
    reads=("nvmlDeviceGetPcieReplayCounter",),
)
GPU_THROTTLED = Card(
    id="gpu-throttled",
    title="A GPU runs at a lower clock than it could",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Hardware slowdown halves the clock or worse, because the GPU is too hot or the power supply asks for it; "
        "software slows the clock down before that. One slow GPU slows every collective. A power cap under full load "
        "is normal (INFO)."
    ),
    remedy=(
        "hardware slowdown: drain the node, check fans, coolant, air flow and power supplies; software thermal: "
        "cooling; otherwise reset locked clocks (nvidia-smi -rgc, -rac)"
    ),
    sure="nvidia-smi -q -d PERFORMANCE,TEMPERATURE; railgauge check -r 2 --only gpu-throttled while a job runs",
    passes="no GPU is slowed down",
    reads=("nvmlDeviceGetCurrentClocksEventReasons", "NVML_FI_DEV_PERF_POLICY_*"),
)
GPU_CLOCK_LOW = Card(
    id="gpu-clock-low",
    title="A GPU's clock is lower than its siblings'",
    levels=(WARN, UNKNOWN),
    about=(
        "Collectives run at the speed of the slowest GPU. The highest clocks of GPUs of one model are compared, and "
        "under load the present ones."
    ),
    remedy="reset locked and application clocks (nvidia-smi -rgc, -rmc, -rac); otherwise check cooling and power",
    sure="nvidia-smi -q -d CLOCK",
    passes="GPUs of one model have the same clocks",
    reads=("nvmlDeviceGetClockInfo", "nvmlDeviceGetMaxClockInfo"),
)
GPU_POWER_LIMIT_LOW = Card(
    id="gpu-power-limit-low",
    title="A GPU's power limit is lower than its default or its siblings'",
    levels=(WARN, UNKNOWN),
    about="A lower limit lowers the clock under load. The limit that is enforced may be below the one that was set.",
    remedy="set the default again (nvidia-smi -i GPU -pl WATTS); other limits are of the chassis or its firmware",
    sure="nvidia-smi -q -d POWER",
    passes="every GPU has its default power limit",
    reads=("nvmlDeviceGetPowerManagementLimit", "nvmlDeviceGetEnforcedPowerLimit"),
)
PERSISTENCE_OFF = Card(
    id="persistence-off",
    title="Persistence mode is off",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "Without it the driver stops a GPU when its last process ends: the next start takes seconds, and NVLinks, "
        "clocks and limits are set up again. WARN where GPUs of one node differ."
    ),
    remedy="systemctl enable --now nvidia-persistenced, or nvidia-smi -pm 1",
    sure="nvidia-smi -q | grep Persistence",
    passes="persistence mode is on",
    reads=("nvmlDeviceGetPersistenceMode",),
)
CONFIDENTIAL_COMPUTE = Card(
    id="confidential-compute",
    title="Confidential computing is on",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Data over PCIe is then encrypted and copied through a staging buffer, which slows down transfers to the host "
        "and excludes GPUDirect RDMA; GPUs take no work until they are attested and set ready. In developer mode "
        "nothing is protected."
    ),
    remedy="nvidia-smi conf-compute -srs 1 sets the GPUs ready; turn it off where it is not needed",
    sure="nvidia-smi conf-compute -f; nvidia-smi conf-compute -grs",
    passes="confidential computing is off",
    reads=("nvmlSystemGetConfComputeState", "nvmlSystemGetConfComputeGpusReadyState"),
)
LINK_OPTICS = Card(
    id="link-optics",
    title="A port's cable or optical module is at its limits",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Forward error correction repairs bits until a link has too many wrong ones; then packets are lost. The bit "
        "error rate before correction, symbol errors after it, and the temperature of modules show it ahead. Drivers "
        "show some of them only."
    ),
    remedy="clean or replace the optics or the cable; cool modules that are too hot; update the module's firmware",
    sure="mlxlink -d DEVICE -m -c; ethtool -S NETDEV | grep phy; ethtool -m NETDEV",
    passes="bit error rates and module temperatures are within limits",
    reads=(
        "ethtool -S (rx_corrected_bits_phy, rx_symbol_err_phy, module_*)",
        "/sys/class/infiniband/*/device/hwmon/*/temp*",
    ),
)
