# SPDX-License-Identifier: Apache-2.0
"""The topology file of a virtual machine: its devices, found again on the host, at the host's places."""
