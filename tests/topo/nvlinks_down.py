# SPDX-License-Identifier: Apache-2.0
"""A fixture some of whose NVLinks are down."""

from pathlib import Path

from railgauge.topo.facts.named_source import fixture_path
from railgauge.topo.machine import Machine, load_machine


def with_nvlinks_down(folder: Path, fixture: str, gpus, links: int) -> Machine:
    """`fixture` with the first `links` NVLinks of some GPUs down."""
    changes = "".join(f"gpus.{gpu}.links.{link}.state = 0\n" for gpu in gpus for link in range(links))
    path = folder / "machine.toml"
    path.write_text(f'base = "{fixture_path(fixture)}"\n[facts.nvml]\n{changes}')
    return load_machine(str(path))
