# SPDX-License-Identifier: Apache-2.0
"""A host that NCCL cannot tell from others: its name and boot id say nothing."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.host_identity import BOOT_ID, HOSTNAME
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule

SETTING = "NCCL_HOSTID"
ANY_NAME = ("", "localhost", "localhost.localdomain", "(none)")


def _check(case: Case) -> Iterator[Finding]:
    forced = case.settings.get(SETTING)
    if forced:
        yield RULE.finding(
            Level.INFO, SETTING, f"{SETTING}={forced} stands for the host: it has to differ on each", value=forced
        )
        return
    name, boot_id = case.evidence.identity
    if name is None and boot_id is None:
        yield RULE.unknown(case.host, f"neither {HOSTNAME} nor {BOOT_ID} was read")
    elif not (boot_id or "").strip("0-"):
        level = Level.WARN if (name or "") in ANY_NAME else Level.INFO
        yield RULE.finding(
            level,
            BOOT_ID,
            f"there is no boot id, so that the name {name or ''!r} alone tells this host from others",
            effect="NCCL takes ranks of hosts with equal names to share memory and GPUs, and stops or hangs",
            name=name,
            boot_id=boot_id,
        )


RULE = Rule(
    id="host-id-collision",
    title="A host that cannot be told from others",
    levels=(Level.INFO, Level.WARN, Level.UNKNOWN),
    about=(
        "NCCL takes ranks to be on one host when host name and boot id are equal (or NCCL_HOSTID, where it is set). "
        "Cloned guests and containers without a boot id of their own look like one host that has its GPUs twice."
    ),
    passes="host name and boot id tell this host from others",
    reads=(HOSTNAME, BOOT_ID, SETTING),
    shows=("Duplicate GPU detected : rank 8 and rank 0 both on CUDA device 1b000",),
    sure=f"cat {BOOT_ID} on every node: no two are equal; railgauge cluster check compares them",
    remedy=f"give each host a name of its own, or set {SETTING} to something that differs on each",
    links=("https://github.com/NVIDIA/nccl/issues/1241", "https://github.com/NVIDIA/nccl/issues/324"),
    check=_check,
)
