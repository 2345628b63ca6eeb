# SPDX-License-Identifier: Apache-2.0
"""The baseline of a machine: findings of an earlier check, and the machine itself if a capture was kept.

The rules about changes read a machine and its baseline; no other rule knows of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from railgauge.topo.compare.change import Change
from railgauge.topo.findings.finding import Finding
from railgauge.topo.machine import Machine, is_same_host


class Baseline(NamedTuple):
    """`name` as given on the command line, `host`: the machine's name; `machine`: None if only findings were kept."""

    name: str
    host: str
    findings: Sequence[Finding]
    machine: Machine | None = None


@dataclass(frozen=True, kw_only=True)
class SinceBaseline:
    """A machine and its baseline."""

    machine: Machine
    baseline: Baseline

    @property
    def before(self) -> Machine | None:
        """The machine as it was; None if only findings were kept."""
        return self.baseline.machine

    @property
    def of_file(self) -> bool:
        """Whether one of the two is a topology file, or unknown."""
        return self.before is None or self.before.facts is None or self.machine.facts is None

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The differences; empty if only findings were kept.

        InputError when one of the two is a topology file that contradicts itself.
        """
        from railgauge.topo.compare.diff import diff

        if self.before is None:
            return ()
        return diff(self.before, self.machine, same_host=is_same_host(self.before, self.machine))
