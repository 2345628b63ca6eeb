# SPDX-License-Identifier: Apache-2.0
"""Settings of which NCCL makes something else than they say, or with which it does not start."""

from collections.abc import Iterator

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule, unrecorded
from railgauge.topo.nccl.settings.validity import fault_of


def _check(case: Case) -> Iterator[Finding]:
    for setting in case.known_settings:
        fault = fault_of(setting)
        if fault and not fault.ignored:
            yield RULE.finding(
                Level.FAIL if fault.fatal else Level.WARN,
                setting.name,
                f"{setting.name} (of {setting.origin}) {fault.message}",
                value=setting.value,
                origin=setting.origin,
            )
    yield from unrecorded(RULE, case)


RULE = Rule(
    id="nccl-setting-invalid",
    title="A setting of which NCCL makes something else",
    levels=(Level.WARN, Level.FAIL, Level.UNKNOWN),
    about=(
        "Numbers are read by strtoll with base 0: on, true and yes are 0, 022 is 18, 22ms is 22. Texts keep their "
        "blanks and quotes. Values in files end after 1023 characters. A wrong list of algorithms stops NCCL."
    ),
    passes="every NCCL_* that is set has a value that NCCL takes as it stands",
    reads=("NCCL_* of the environment", "NCCL_CONF_FILE or ~/.nccl.conf", "/etc/nccl.conf"),
    shows=("NCCL_IB_TIMEOUT set by environment to 18.", "Invalid value ... for NCCL_..., using default ..."),
    sure="NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=ENV prints the value that was read; railgauge env",
    remedy="write numbers in decimal, 0 and 1 for off and on, texts without blanks and quotes",
    links=("https://github.com/NVIDIA/nccl/issues/1008",),
    check=_check,
)
