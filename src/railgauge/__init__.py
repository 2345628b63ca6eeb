# SPDX-License-Identifier: Apache-2.0
"""railgauge: the truth about the wires between the GPUs of a cluster, proved by running on them.

The program is the five folders at the repository's root; they are seen here through links:
`railgauge.topo` (the machine, described), `railgauge.transports` (how bytes move between two ranks),
`railgauge.collectives` (schedules of them over channels), `railgauge.cli` and `railgauge.fixtures`.
"""

__version__ = "0.1.0.dev0"
