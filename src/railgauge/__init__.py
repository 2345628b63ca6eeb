# SPDX-License-Identifier: Apache-2.0
"""railgauge: GPU-cluster topology and interconnect diagnostics as NCCL sees them, proved by measured collectives.

The program is the five folders at the repository's root; they are seen here through links:
`railgauge.topo` (the machine, described), `railgauge.transports` (how bytes move between two ranks),
`railgauge.collectives` (schedules of them over channels), `railgauge.cli` and `railgauge.fixtures`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from railgauge.collectives.process_group import ProcessGroup, init_process_group

__all__ = ["ProcessGroup", "__version__", "init_process_group"]
__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    """Load the engine when it is first asked for: `import railgauge` alone stays cheap."""
    if name in ("ProcessGroup", "init_process_group"):
        from railgauge.collectives import process_group

        return getattr(process_group, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
