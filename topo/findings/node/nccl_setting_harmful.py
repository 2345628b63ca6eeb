# SPDX-License-Identifier: Apache-2.0
"""A setting of the environment that keeps NCCL from what the machine has: left over from the hunt for an error."""

from collections.abc import Iterator

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule, unrecorded
from railgauge.topo.findings.node.setting_harm import harm_of


def _check(case: Case) -> Iterator[Finding]:
    for setting in case.known_settings:
        if not setting.is_of_file and (harm := harm_of(case, setting)):
            yield RULE.finding(
                harm.level,
                setting.name,
                f"{setting.name}={setting.value} (of the {setting.origin}): {harm.what}",
                effect=harm.effect,
                remedy="" if harm.level is Level.INFO else f"unset {setting.name}",
                value=setting.value,
            )
    yield from unrecorded(RULE, case)


RULE = Rule(
    id="nccl-setting-harmful",
    title="A setting that keeps NCCL from what the machine has",
    levels=(Level.INFO, Level.WARN, Level.FAIL, Level.UNKNOWN),
    about=(
        "Settings that turn a part of NCCL off find an error; left in a job's environment they cost bandwidth for "
        "good: no RDMA, no P2P, no GPUDirect RDMA, one algorithm for all. What each takes depends on the machine: P2P "
        "is not missed where no GPU has it."
    ),
    passes="no setting of the environment keeps NCCL from P2P, RDMA or GPUDirect RDMA, or binds its choice",
    reads=("NCCL_* of the environment", "the paths between GPUs and NICs"),
    shows=(
        "NCCL_P2P_DISABLE set by environment to 1.",
        "NCCL_IB_DISABLE set by environment to 1.",
        "NET/IB : No device found.",
        "Using network Socket",
    ),
    sure="railgauge env; the same job once without the setting",
    remedy="unset it",
    links=("https://github.com/NVIDIA/nccl/issues/1466", "https://github.com/NVIDIA/nccl-tests/issues/373"),
    check=_check,
)
