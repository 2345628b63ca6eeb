# SPDX-License-Identifier: Apache-2.0
"""`check --write-profile FILE`: the machine as a site's profile for --expect."""

from collections.abc import Sequence

from railgauge.cli.machine_options import print_warnings
from railgauge.cli.output import write_text
from railgauge.topo.errors import UsageError
from railgauge.topo.expect.profile import dumps
from railgauge.topo.expect.site_profile import profile_of
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.machine import Machine

BAD = (Level.FAIL, Level.WARN)


def write_profile(path: str, machine: Machine, findings: Sequence[Finding]) -> None:
    """Write it, and warn of findings: a faulty node makes a faulty profile. UsageError for a topology file."""
    if machine.facts is None:
        raise UsageError("--write-profile needs a machine or a capture, not a topology XML")
    bad = sorted({finding.id for finding in findings if finding.level in BAD})
    if bad:
        print_warnings((f"{path}: made from a node with findings ({', '.join(bad)}); check what it expects",))
    name = machine.host or "node"
    profile, unread = profile_of(machine.facts.of_all_gpus, name, f"as found on {name}")
    write_text(path, dumps(profile, unread))
