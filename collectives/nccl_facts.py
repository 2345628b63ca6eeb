# SPDX-License-Identifier: Apache-2.0
"""What NCCL reported in a run: its release, its channels, and which files it loaded."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from railgauge.topo.jobs.logs.log import Log

RINGS, TREES = 0, 1
"""Numbers of NCCL's graphs (graph->id)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NcclFacts:
    """None is what it did not report: NCCL_DEBUG and NCCL_DEBUG_SUBSYS are the user's."""

    version: str
    channels: int | None
    """For collectives; the maximum of all ranks."""
    graph_rings: int | None
    """Channels loaded from NCCL_GRAPH_FILE, like the next."""
    graph_trees: int | None
    topology_files: tuple[str, ...]
    """Loaded: NCCL_TOPO_FILE, or a virtual machine's own."""
    gpus: tuple[str, ...] = ()
    """Names of the GPUs of all ranks, as the driver has them, each once."""

    @classmethod
    def read(cls, version: str, log: "Log", gpus: tuple[str, ...]) -> "NcclFacts":
        """From its log."""
        return cls(
            version=version,
            channels=max((count for count, _ in log.channels.values()), default=None),
            graph_rings=log.loaded.get(RINGS),
            graph_trees=log.loaded.get(TREES),
            topology_files=tuple(log.topology_files),
            gpus=gpus,
        )

    def lines(self) -> list[str]:
        """For the table's header."""
        channels = "" if self.channels is None else f", {self.channels} channels"
        found = [f"# Engine: NCCL {self.version}{channels}"]
        found += [f"# NCCL loaded the topology {path}" for path in self.topology_files]
        if self.graph_rings is not None or self.graph_trees is not None:
            loaded = f"{self.graph_rings or 0} rings and {self.graph_trees or 0} trees"
            found.append(f"# NCCL loaded {loaded} from its graph file")
        return found

    def to_json(self) -> dict[str, Any]:
        """The document's `nccl`."""
        return asdict(self)
