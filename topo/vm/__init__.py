# SPDX-License-Identifier: Apache-2.0
"""The topology file of a virtual machine: its devices at the places they have on the host."""
