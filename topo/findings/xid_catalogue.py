# SPDX-License-Identifier: Apache-2.0
"""What the numbers of Xid and SXid messages mean, and what to do about each.

Facts of NVIDIA's "Analyzing Xid Errors with the Xid Catalog" (docs.nvidia.com/deploy/xid-errors) and "GPU Memory Error
Management", and for SXid of the "Fabric Manager for NVIDIA NVSwitch Systems" guide, in words of our own. A level is
that of the action: FAIL where the node is to be drained, WARN where a job was lost to something other than its own
program or a fault may follow, INFO where the program is the usual cause or another Xid says what happened.
"""

from enum import Enum
from typing import NamedTuple

from railgauge.topo.findings.finding import Level


class XidAction(Enum):
    """What to do, with the level that it means."""

    NOTHING = (Level.INFO, "nothing to do")
    CHECK_PROGRAM = (Level.INFO, "check the program that ran on the GPU")
    SEE_OTHERS = (Level.INFO, "see the other Xids of the same time; alone, restart the fabric manager")
    RESTART_PROGRAM = (Level.WARN, "restart the program; contact support if it returns")
    WATCH = (Level.WARN, "keep watching; contact support if it returns")
    RESET_LATER = (Level.WARN, "reset the GPU when its job has ended")
    UPDATE = (Level.WARN, "update the driver and the firmware")
    RESET = (Level.FAIL, "drain the node and reset the GPU; contact support if it returns")
    REBOOT = (Level.FAIL, "drain the node and restart it; contact support if it returns")
    CHECK_LINK = (
        Level.FAIL,
        "drain the node, reset the GPUs and check the NVLink connection; replace it if it returns",
    )
    CHECK_POWER = (Level.FAIL, "drain the node and check the power cables of the GPU")
    REPLACE = (Level.FAIL, "drain the node and reset the GPU; have it replaced if it returns")

    @property
    def level(self) -> Level:
        """The level of a finding."""
        return self.value[0]

    @property
    def words(self) -> str:
        """What to do."""
        return self.value[1]

    @property
    def drains(self) -> bool:
        """Whether the node must take no more jobs."""
        return self.level is Level.FAIL


class XidMeaning(NamedTuple):
    """What a number means, and what to do."""

    words: str
    action: XidAction


A = XidAction
XIDS: dict[int, XidMeaning] = {
    8: XidMeaning("the GPU did not process commands in time", A.RESTART_PROGRAM),
    11: XidMeaning("invalid commands were sent to the GPU", A.CHECK_PROGRAM),
    13: XidMeaning("a kernel failed, mostly by an address out of bounds or an illegal instruction", A.CHECK_PROGRAM),
    25: XidMeaning("illegal commands were sent to the GPU", A.CHECK_PROGRAM),
    31: XidMeaning("a page fault: a program used an address that is not mapped", A.CHECK_PROGRAM),
    32: XidMeaning("commands to the GPU were corrupted, by the program, the driver or PCIe", A.RESTART_PROGRAM),
    37: XidMeaning("the firmware rejected a command of the driver", A.CHECK_PROGRAM),
    38: XidMeaning("the firmware did not answer in time", A.WATCH),
    39: XidMeaning("a copy engine failed", A.RESTART_PROGRAM),
    40: XidMeaning("a copy engine failed", A.RESTART_PROGRAM),
    41: XidMeaning("a copy engine failed", A.RESTART_PROGRAM),
    43: XidMeaning("a program's channel was reset after an error of its own", A.CHECK_PROGRAM),
    44: XidMeaning("a fault during a change of context", A.WATCH),
    45: XidMeaning("a program was removed from the GPU, because it ended or after another error", A.SEE_OTHERS),
    46: XidMeaning("the GPU stopped processing", A.RESET),
    48: XidMeaning("an uncorrectable memory error (double-bit ECC)", A.RESET),
    54: XidMeaning("the GPU's own power cable is not connected", A.CHECK_POWER),
    60: XidMeaning("the video processor failed", A.RESTART_PROGRAM),
    61: XidMeaning("a microcontroller of the GPU stopped at a breakpoint", A.WATCH),
    62: XidMeaning("a microcontroller of the GPU halted", A.RESET),
    63: XidMeaning("a faulty memory row was marked for remapping, or a page for retirement", A.RESET_LATER),
    64: XidMeaning("a faulty memory row could not be remapped, or a page not be retired", A.REPLACE),
    66: XidMeaning("the driver made an illegal access", A.WATCH),
    67: XidMeaning("the driver made an illegal access", A.WATCH),
    68: XidMeaning("the video decoder failed", A.RESTART_PROGRAM),
    69: XidMeaning("a command of an unknown class was sent to the GPU", A.CHECK_PROGRAM),
    74: XidMeaning("an NVLink failed", A.CHECK_LINK),
    78: XidMeaning("a vGPU could not start", A.UPDATE),
    79: XidMeaning("the GPU has fallen off the bus: PCIe cannot reach it", A.REBOOT),
    80: XidMeaning("data sent to the GPU was corrupted", A.RESTART_PROGRAM),
    86: XidMeaning("the optical flow accelerator failed", A.RESTART_PROGRAM),
    92: XidMeaning("correctable memory errors are frequent", A.WATCH),
    93: XidMeaning("the GPU's configuration memory was written too often", A.WATCH),
    94: XidMeaning("an uncorrectable memory error that was contained: one program lost its data", A.RESET),
    95: XidMeaning("an uncorrectable memory error that was not contained: any program's data may be lost", A.RESET),
    106: XidMeaning("a test message", A.NOTHING),
    107: XidMeaning("a test message", A.NOTHING),
    108: XidMeaning("an access over NVLink could not be translated at its target", A.CHECK_PROGRAM),
    109: XidMeaning("a change of context did not end in time", A.RESET),
    110: XidMeaning("the GPU reports a security fault", A.RESET),
    119: XidMeaning("the GPU's system processor (GSP) did not answer in time", A.RESET),
    120: XidMeaning("the GPU's system processor (GSP) failed", A.RESET),
    121: XidMeaning("the chip-to-chip link to the processor reported a correctable error", A.WATCH),
    136: XidMeaning("an NVLink could not be trained", A.CHECK_LINK),
    137: XidMeaning("an access over NVLink was refused, mostly a fault on the peer", A.CHECK_PROGRAM),
    140: XidMeaning("an ECC error could not be recovered", A.RESET),
    141: XidMeaning("CUDA's fast path failed", A.WATCH),
    142: XidMeaning("the video encoder failed", A.WATCH),
    143: XidMeaning("the GPU could not be initialised", A.RESET),
    151: XidMeaning("the keys of confidential computing could not be changed", A.REBOOT),
    152: XidMeaning("an accelerator's memory translation failed", A.WATCH),
    153: XidMeaning("an accelerator did not answer in time", A.WATCH),
    155: XidMeaning("the driver reports a fault of NVLink", A.CHECK_LINK),
    156: XidMeaning("a faulty part of the GPU is to be retired at its next reset", A.RESET),
    157: XidMeaning("a faulty part of the GPU could not be retired", A.REPLACE),
    158: XidMeaning("the GPU did not answer in time, and stays unusable", A.RESET),
    159: XidMeaning("an access over the coherent link to the processor failed", A.RESTART_PROGRAM),
    160: XidMeaning("a faulty memory channel was retired", A.WATCH),
    161: XidMeaning("a faulty memory channel could not be retired", A.REPLACE),
    162: XidMeaning("power smoothing is at work again", A.NOTHING),
    163: XidMeaning("power smoothing stopped", A.WATCH),
    164: XidMeaning("the circuit for power smoothing is nearly worn out", A.WATCH),
    165: XidMeaning("the circuit for power smoothing is worn out", A.WATCH),
    166: XidMeaning("NVLink traffic came before the link was encrypted", A.WATCH),
    167: XidMeaning("PCIe did not answer in time", A.REBOOT),
    168: XidMeaning("the GPU uses less memory, because of errors in a protected region", A.RESET),
    169: XidMeaning("a security microcontroller of the GPU halted", A.RESET),
    170: XidMeaning("an unexpected interrupt of NVLink in confidential mode", A.WATCH),
    171: XidMeaning("an uncorrectable error in the GPU's memory (DRAM)", A.RESET),
    172: XidMeaning("an uncorrectable error in the GPU's caches (SRAM)", A.RESET),
}
COPY_ENGINES = (*range(70, 74), *range(75, 78), 85, *range(126, 136))
VIDEO = (82, 83, 84, 88, 89, *range(96, 106), 139)
XIDS |= {code: XidMeaning("a copy engine failed", A.RESTART_PROGRAM) for code in COPY_ENGINES if code != 73}
XIDS |= {code: XidMeaning("a video or image engine failed", A.RESTART_PROGRAM) for code in VIDEO}
NVLINK5 = range(144, 151)
"""Of GPUs from Blackwell on; the message says whether the fault is fatal."""
MEMORY_XIDS = frozenset({48, 63, 64, 92, 94, 95, 140, 160, 161, 168, 171, 172})
"""Of one memory error: what happened, and what was or was not done about its row, page or channel."""
NVLINK_XIDS = frozenset({74, 136, *NVLINK5, 155})
LOST_XIDS = frozenset({79, 167})
"""Of a GPU that PCIe cannot reach."""
REMOVED = 45
RECOVERY_CHANGED = 154
RECOVERY_ACTIONS: dict[int, XidMeaning] = {  # nvmlDeviceGpuRecoveryAction_t
    0: XidMeaning("no recovery is needed", A.NOTHING),
    1: XidMeaning("the GPU needs a reset", A.RESET),
    2: XidMeaning("the node needs a restart", A.REBOOT),
    3: XidMeaning("peer-to-peer jobs must end before the GPU recovers", A.RESET),
    4: XidMeaning("the node must be drained, and the GPU be reset", A.RESET),
    5: XidMeaning("the IMEX domain needs to be recovered", A.RESET),
    6: XidMeaning("the GPU's bus needs a reset", A.REBOOT),
    7: XidMeaning("the system needs a restart", A.REBOOT),
}
SXIDS: dict[int, XidMeaning] = {
    10004: XidMeaning("the switch is too hot", A.WATCH),
    10005: XidMeaning("the switch is no longer too hot", A.NOTHING),
    11004: XidMeaning("a packet came from a GPU outside the partition", A.WATCH),
    12028: XidMeaning("a register access through the switch failed", A.WATCH),
    19084: XidMeaning("a heartbeat between switches was lost", A.CHECK_LINK),
    20001: XidMeaning("a packet was sent again", A.NOTHING),
    20009: XidMeaning("a link has many bit errors", A.WATCH),
    20012: XidMeaning("the connection of a link is broken or inconsistent", A.WATCH),
    22012: XidMeaning("the controller of a link reports a broken connection", A.WATCH),
    22013: XidMeaning("the controller of a link reports an event", A.NOTHING),
}
CORRECTED_SXIDS = (
    *(11012, 11021, 11022, 11023, 12021, 12023, 15008, 15011, 19049, 19055, 19057, 19059, 19062, 19065, 19068, 19071),
    *(24001, 24002, 24003),
)
SXIDS |= {code: XidMeaning("a correctable memory error of the switch", A.NOTHING) for code in CORRECTED_SXIDS}
FATAL_SXID = XidMeaning("the driver reports a fatal fault of an NVSwitch or its link", A.CHECK_LINK)
OTHER_SXID = XidMeaning("the driver reports a fault of an NVSwitch that is not fatal", A.WATCH)
OTHER_XID = XidMeaning("a number that NVIDIA's catalogue does not explain", A.WATCH)


def meaning_of_xid(code: int, kind: str) -> XidMeaning:
    """What an Xid means; `kind` as in KernelEvent."""
    if code == RECOVERY_CHANGED:
        unknown = XidMeaning("the GPU needs a recovery that this release does not know", A.RESET)
        return RECOVERY_ACTIONS.get(int(kind, 16), unknown) if kind else unknown
    if code in NVLINK5:
        fatal = kind != "nonfatal"
        return XidMeaning(f"{'an' if fatal else 'a recovered'} NVLink fault", A.CHECK_LINK if fatal else A.WATCH)
    return XIDS.get(code, OTHER_XID)


def meaning_of_sxid(code: int, kind: str) -> XidMeaning:
    """What an SXid means; the message itself says whether it is fatal."""
    known = SXIDS.get(code)
    if kind == "fatal":
        return XidMeaning(known.words, A.CHECK_LINK) if known else FATAL_SXID
    return known or OTHER_SXID
