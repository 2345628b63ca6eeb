# SPDX-License-Identifier: Apache-2.0
"""The rows of the rules about the health of GPUs, NVSwitches and optics (rule_rows.py)."""

from tests.topo.findings.node.cases import case, health
from tests.topo.findings.node.rule_rows import DGX, ROCE, Row

from railgauge.topo.findings.finding import Level

LINK = "gpus.5.nvlinks.7"


def optics(**counts):
    told = {"interfaces": [{"name": "gpu0rail", "counts": {"rx_bytes_phy": 1 << 40, **counts}}]}
    return case(ROCE, facts={"interface_statistics": told})


def volta(**pages):
    """A machine before Ampere."""
    told = {
        "index": 0,
        "pci": "00000000:06:00.0",
        "retired_pages": pages,
        "reasons": {"retired_pages": "Not Supported"},
    }
    return case("dgx-1v", facts={"gpu_health": {"gpus": [told]}})


def unasked():
    return health(error="NVML did not answer within 20 s", gpus=[])


HEALTH_ROWS = {
    "gpu-xid": Row(
        Level.FAIL,
        lambda: health("[9.1] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."),
        lambda: health(),
        lambda: case(DGX),
    ),
    "nvswitch-sxid": Row(
        Level.FAIL,
        lambda: health("[9.1] nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
        lambda: health(),
        lambda: case(DGX),
    ),
    "gpu-memory-errors": Row(
        Level.FAIL, lambda: health(gpus__3__ecc__sram_uncorrected_volatile=1), lambda: health(), unasked
    ),
    "gpu-row-remap": Row(Level.FAIL, lambda: health(gpus__3__remapped_rows__failed=1), lambda: health(), unasked),
    "gpu-pages-retired": Row(
        Level.FAIL,
        lambda: volta(single_bit=2, double_bit=1, pending=1),
        lambda: volta(single_bit=0, double_bit=0, pending=0),
        lambda: volta(single_bit=None),
    ),
    "gpu-recovery-needed": Row(Level.FAIL, lambda: health(gpus__3__recovery_action=1), lambda: health(), unasked),
    "nvlink-errors": Row(
        Level.INFO, lambda: health(**{f"{LINK}.recovery".replace(".", "__"): 3}), lambda: health(), unasked
    ),
    "pcie-replays": Row(Level.INFO, lambda: health(gpus__3__pcie_replays=5), lambda: health(), unasked),
    "gpu-throttled": Row(Level.FAIL, lambda: health(gpus__3__clock_reasons=0x40), lambda: health(), unasked),
    "gpu-clock-low": Row(Level.WARN, lambda: health(gpus__3__clocks_mhz__sm_max=1410), lambda: health(), unasked),
    "gpu-power-limit-low": Row(Level.WARN, lambda: health(gpus__3__power_mw__limit=500_000), lambda: health(), unasked),
    "compute-mode": Row(Level.WARN, lambda: health(gpus__3__compute_mode=3), lambda: health(), unasked),
    "persistence-off": Row(Level.WARN, lambda: health(gpus__3__persistence=0), lambda: health(), unasked),
    "confidential-compute": Row(
        Level.FAIL, lambda: health(confidential={"feature": 1, "ready": 0}), lambda: health(), lambda: case(DGX)
    ),
    "link-optics": Row(
        Level.WARN,
        lambda: optics(rx_corrected_bits_phy=1 << 40),
        lambda: optics(rx_corrected_bits_phy=9),
        lambda: case(ROCE),
    ),
}
