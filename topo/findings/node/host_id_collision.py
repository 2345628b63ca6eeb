# SPDX-License-Identifier: Apache-2.0
"""A host that NCCL cannot distinguish from others: its name and boot id are not unique."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.host_identity import BOOT_ID, HOSTNAME
from railgauge.topo.findings.cards.network import HOST_ID_COLLISION
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

SETTING = "NCCL_HOSTID"
ANY_NAME = ("", "localhost", "localhost.localdomain", "(none)")


def _check(machine: Machine) -> Iterator[Finding]:
    forced = machine.settings.get(SETTING)
    if forced:
        yield RULE.finding(
            Level.INFO,
            SETTING,
            f"{SETTING}={forced} replaces the host's identity: it must differ on every host",
            value=forced,
        )
        return
    name, boot_id = machine.sources.identity
    if name is None and boot_id is None:
        yield RULE.unknown(machine.host, f"neither {HOSTNAME} nor {BOOT_ID} was read")
    elif not (boot_id or "").strip("0-"):
        level = Level.WARN if (name or "") in ANY_NAME else Level.INFO
        yield RULE.finding(
            level,
            BOOT_ID,
            f"no boot id: only the name {name or ''!r} distinguishes this host from others",
            effect=RULE.card.effect,
            name=name,
            boot_id=boot_id,
        )


RULE = Rule(card=HOST_ID_COLLISION, check=_check)
