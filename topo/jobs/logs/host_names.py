# SPDX-License-Identifier: Apache-2.0
"""Hosts of one name in a log: ranks on them take each other's memory for their own host's."""

import re
from collections.abc import Iterator

from railgauge.topo.findings.cards.network import HOST_ID_COLLISION
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.words import named, numbers

WITHIN_HOST = re.compile(r"(?i)\bipc|ipc[a-z]*handle|shm|shared mem|peer access")
"""What fails between ranks that are not on one host after all."""
BY_BOOT_ID = (2, 5)
"""The first release that tells hosts of one name apart, by their boot id."""


def hosts_of_one_name(log: Log) -> Iterator[Finding]:
    """A host whose interface has two addresses: FAIL where ranks failed to share memory, WARN where they will."""
    old = bool(log.releases) and all(numbers(release) < BY_BOOT_ID for release in log.releases)
    for (host, name), addresses in sorted(log.addresses.items()):
        failed = any(host in seen.hosts and WITHIN_HOST.search(seen.text) for seen in log.sightings.values())
        if host and len(addresses) > 1 and (failed or old):
            message = (
                f"{named([host])} is the name of several hosts: its {name} is {', '.join(sorted(addresses)[:4])}; NCCL "
                "takes their ranks to be on one host"
            )
            yield HOST_ID_COLLISION.finding(Level.FAIL if failed else Level.WARN, host, message)
