# SPDX-License-Identifier: Apache-2.0
"""What the kernel of a node logs of itself and of its devices (`log explain` on dmesg, journalctl)."""

from railgauge.topo.findings.card import FAIL, INFO, WARN, Card, Pattern

HOST_FAULT = Card(
    id="host-fault",
    title="The kernel of a node crashes, or memory or a processor reports errors",
    levels=(INFO, WARN, FAIL),
    about="Whatever runs on the node ends, or computes wrong results, and other ranks report that they lost it.",
    remedy=(
        "drain the node; a crash: read the call trace, which names the driver, and update it and the kernel; memory "
        "and processor errors: replace the part that ras-mc-ctl or the BMC's event log names"
    ),
    sure="journalctl -k -b -1 -e; ras-mc-ctl --errors; ipmitool sel list",
    shows=("Kernel panic - not syncing: Fatal exception in interrupt",),
    patterns=(
        Pattern(
            r"Kernel panic - |BUG: (?:kernel NULL pointer|unable to handle)|Oops: |kernel BUG at |invalid opcode: 0000"
            r"|general protection fault, probably",
            FAIL,
            "the kernel of a node crashed: the call trace below names the driver",
        ),
        Pattern(
            r"\[Hardware Error\]: .*(?:[Ff]atal|[Uu]ncorrect|CPU \d+: Machine Check)|\bEDAC\b.*\b(?:UE|[Uu]ncorrect)"
            r"|mce: .*(?:[Uu]ncorrect|[Ff]atal)|Memory failure: 0x",
            FAIL,
            "memory or a processor of a node reports an error that was not corrected",
        ),
        Pattern(
            r"^(?!.*amdgpu).*\[Hardware Error\]: |\bEDAC\b.*\bCE\b",
            WARN,
            "memory, a processor or a PCIe device of a node reports errors, which were corrected as far as the line "
            "tells",
            general=1,
        ),
    ),
)
HOST_STUCK = Card(
    id="host-stuck",
    title="Cores or processes of a node wait in the kernel",
    levels=(INFO, WARN, FAIL),
    about=(
        "A driver waits for its device, or a process for a file system, and does not come back: the rank cannot even "
        "be killed, and the others wait for it."
    ),
    remedy="read the call trace below the line, which names the driver or the file system; restart the node",
    sure="cat /proc/PID/stack; dmesg | grep -A30 -e lockup -e 'blocked for more'",
    shows=("watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python3:4711]",),
    patterns=(
        Pattern(
            r"(?:soft|hard) ?(?:lockup|LOCKUP)\b|\bdetected (?:expedited )?stalls? on CPUs|rcu_\w+ self-detected stall",
            FAIL,
            "a core of a node was kept busy within the kernel: a driver that waits for its device, or a host that is "
            "overloaded",
        ),
        Pattern(
            r"task \S+:\d+ blocked for more than \d+ seconds",
            WARN,
            "a process waits in the kernel for a device or a file system that does not answer: the call trace below "
            "names it",
        ),
        Pattern(
            r"irq \d+: nobody cared|Disabling IRQ #\d+",
            WARN,
            "the kernel turned an interrupt off that no driver took: devices that share it get slow or stop, as "
            "/proc/interrupts names them",
        ),
    ),
)
PCIE_ERROR_REPORTED = Card(
    id="pcie-error-reported",
    title="The kernel reports errors of a PCIe device or its link",
    levels=(INFO, WARN, FAIL),
    about=(
        "Ports report errors of the devices below them (AER), and take a device out of use after a fatal one (DPC) or "
        "when its link is lost. A GPU or NIC there is gone for every job until the node restarts."
    ),
    remedy=(
        "drain the node; reseat the device, its riser or cable; power off and on; corrected errors that go on warn of "
        "the same"
    ),
    sure="dmesg | grep -e AER -e DPC -e pciehp; lspci -vvv -s DEVICE: LnkSta, UESta",
    shows=("pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0",),
    patterns=(
        Pattern(
            r"AER: .*(?:Uncorrect\w+ \(Fatal\)|(?<!Non-)\bFatal\b|can't recover|recovery failed)"
            r"|severity=Uncorrect\w+ \(Fatal\)"
            r"|DPC: containment event|pciehp: Slot\([^)]*\): (?:Link Down|Card not present)|config space inaccessible"
            r"|Unable to change power state from D3cold",
            FAIL,
            "a device is lost on PCIe: a fatal error of its link, or it does not answer any more",
        ),
        Pattern(
            r"AER: .*Uncorrect|severity=Uncorrect|PCIe Bus Error: severity=Uncorrect",
            WARN,
            "a PCIe device reports errors that were not corrected and not fatal",
        ),
        Pattern(
            r"AER: .*Correct|severity=Correct",
            INFO,
            "a PCIe device sends damaged packets again: a few are harmless",
        ),
    ),
)
GPU_DRIVER_REPORTS = Card(
    id="gpu-driver-reports",
    title="A GPU's driver reports an error in the kernel's log",
    levels=(INFO, WARN, FAIL),
    about=(
        "What CUDA, HIP and Level Zero return says little; their kernel drivers log more: firmware that does not "
        "answer, queues that cannot be stopped, addresses that are not mapped. NVIDIA's Xids are judged by number."
    ),
    remedy="read the line; reset the GPU (nvidia-smi -r, amd-smi reset -G) or restart the node; update its firmware",
    sure="dmesg | grep -e NVRM -e amdgpu -e kfd -e ' xe ' -e i915; nvidia-smi -q; amd-smi metric --ecc",
    shows=("amdgpu 0000:0d:00.0: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000012",),
    patterns=(
        Pattern(
            r"amdgpu.*(?:SMU: .*not done|fence wait .*timeout|preemption (?:time ?out|failed)|wait timed out"
            r"|Failed to (?:evict|quiesce)|evicting device resources failed|Poison is)",
            FAIL,
            "an AMD GPU hangs: its firmware or its queues do not answer the driver, which resets it",
        ),
        Pattern(
            r"amdgpu.*(?:VM fault|page fault \(src_id)",
            FAIL,
            "a kernel on an AMD GPU used an address that is not mapped: mostly a fault of the program",
        ),
        Pattern(
            r"(?:i915|\bxe)\b.*(?:GPU HANG|Engine reset|GT reset|wedged)|habanalabs.*(?:heartbeat failed|reset device)",
            FAIL,
            "an accelerator hangs, and its driver resets it",
        ),
        Pattern(
            r"NVRM: (?!.*(?:Xid|loading|deprecated)).*(?:[Ff]ail|[Ee]rror|[Uu]nable|[Cc]an(?:'|no)t|[Tt]imed? ?out"
            r"|[Ii]nvalid|[Bb]ad )"
            r"|\bnvidia-(?:nvswitch|nvlink)\d*\b.*(?:[Ff]ail|\b[Ee]rror|[Tt]imed? ?out)"
            r"|(?:amdgpu|i915|\bxe|habanalabs) [0-9a-f:.]+: (?!.*(?:optional|DMUB|dmub|display|HDMI|DP ))"
            r".*(?:[Ff]ail|\b[Ee]rror|[Tt]imed? ?out)",
            WARN,
            "a GPU's driver reports an error: the line has its reason",
            general=1,
        ),
    ),
)
PCIE_ATOMICS_MISSING = Card(
    id="pcie-atomics-missing",
    title="A GPU's PCIe port does not route atomics",
    levels=(INFO, FAIL),
    about=(
        "Kernels on AMD GPUs call the host, for printf and assert, by atomics over PCIe, which ports of a chipset, "
        "bridges and virtual machines do not route. HIP then refuses every kernel that holds such a call, also one of "
        "RCCL that was built with it."
    ),
    remedy="put the GPU into a slot of the CPU; use a build of RCCL or the program whose kernels do not call the host",
    sure="dmesg | grep -i atomic; sudo lspci -vvv | grep AtomicOps",
    shows=("amdgpu 0000:07:00.0: PCIE atomic ops is not supported",),
    patterns=(
        Pattern(
            r"hipErrorIllegalState|\bHIP\b.*cannot be performed in the present state|[Pp]cie atomics not enabled",
            FAIL,
            "HIP refuses a kernel that calls the host, as it does on a GPU whose PCIe port does not route atomics",
        ),
        Pattern(
            r"PCIE atomic ops is not supported",
            INFO,
            "a GPU's PCIe port does not route atomics: kernels that call the host are refused on it",
        ),
    ),
    links=("https://github.com/ROCm/legacy-rocm-build/issues/6520",),
)
