# SPDX-License-Identifier: Apache-2.0
"""PCI classes, whole or as prefixes of sysfs's `class` (PCI Code and ID Assignment Specification).

Those that NCCL uses are in `kvDictPciClass` of its topo.cc.
"""

DISPLAY = "0x03"  # VGA and 3D controllers: what a GPU is
ACCELERATOR = "0x12"  # AMD's Instinct from MI300 on
GPUS = (DISPLAY, ACCELERATOR)
"""Classes of GPUs, for str.startswith; those of RCCL's files are of either."""
NETWORK = "0x02"
NVME = "0x0108"
HOST_BRIDGE = "0x0600"
PCI_BRIDGE = "0x0604"
OTHER_BRIDGE = "0x0680"
NVSWITCH = "0x068000"
NVLINK_BRIDGE = "0x068001"  # that of a POWER CPU
