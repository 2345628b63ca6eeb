# SPDX-License-Identifier: Apache-2.0
"""The one judge of links: what is expected of each PCIe link and of the NVLinks of each GPU, what is, and why it counts
as degraded. Pictures, JSON, `topo lint`, `check`, `topo diff`, `predict` and `topo paths` read it.
"""
