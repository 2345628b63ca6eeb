# SPDX-License-Identifier: Apache-2.0
"""An error as it was seen in a log: how often, on which hosts, when, and what its lines name."""

import re
from dataclasses import dataclass, field

from railgauge.topo.jobs.logs.catalogue import Entry
from railgauge.topo.jobs.logs.moment import Moment

COMPLETION = re.compile(
    r"Got completion(?: from peer (?P<peer>[^\s<]+))?.*?(?:error |status=)(?:\w+\()?(?P<status>\d{1,3})\)?"
    r"(?:,? opcode[ =](?:\w+\()?(?P<opcode>\d{1,6}))?(?:.*?vendor[ _]err[ =](?P<vendor>\d{1,6}))?"
    r"(?:.*?localGid *(?P<local>[0-9a-fA-F:.]+))?(?:.*?remoteGids? *(?P<remote>[0-9a-fA-F:.]+))?(?:.*?\bhca "
    r"(?P<hca>\S+))?"
)
"""What a line on a completion names, in 2.4 to 2.30's words."""
CONNECTING = re.compile(
    r"on dev (?P<hca>[^\s,:]+):\d+,.{0,200}?local GID (?P<local>[0-9a-fA-F:.]+), remote GID (?P<remote>[0-9a-fA-F:.]+)"
)
"""What a line on a queue pair names, since 2.24."""
OF_DRIVER = re.compile(
    r"NVRM: .{0,80}?\bGPU (?:at )?(?:PCI:)?(?P<gpu>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?)"
)
"""The GPU that a line of NVIDIA's driver names."""
TASK = re.compile(r"(?P<task>/job:[\w-]+/replica:\d{1,7}/task:\d{1,7})(?![\w/])")
"""A process of JAX or TensorFlow."""
LATE = "imed out task names:"
"""Behind it, or in lines below it, are those that did not reach a barrier."""
MOST_NAMES = 64


@dataclass(slots=True)
class Sighting:
    """An error: its count, its hosts, and its first text."""

    entry: Entry
    text: str
    times: int = 0
    hosts: set[str] = field(default_factory=set)
    moments: dict[int, Moment] = field(default_factory=dict)
    """When it came first in each file."""
    named: dict[str, set[str]] = field(default_factory=dict)
    """What completions name: peers, hcas, GIDs; the driver's lines: GPUs; barriers: tasks that are late."""

    def take_names(self, text: str) -> None:
        """Keep what a line on a completion or a queue pair names, or one of the driver, and late tasks."""
        if found := COMPLETION.search(text) or CONNECTING.search(text) or OF_DRIVER.search(text):
            for key, value in found.groupdict().items():
                if value:
                    twice = key in ("local", "remote") and value.startswith(":::")
                    self._keep(key, value.removeprefix(":") if twice else value)
        self.take_late(text.rpartition(LATE)[2] if LATE in text else "")

    def take_late(self, text: str) -> None:
        """Keep the tasks that a text names."""
        for task in TASK.findall(text):
            self._keep("task", task)

    def _keep(self, key: str, value: str) -> None:
        if len(known := self.named.setdefault(key, set())) < MOST_NAMES:
            known.add(value)
