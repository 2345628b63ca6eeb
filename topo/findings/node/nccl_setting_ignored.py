# SPDX-License-Identifier: Apache-2.0
"""Settings that look like NCCL's and that NCCL does not read."""

from collections.abc import Iterator

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule, unrecorded
from railgauge.topo.nccl.settings.validity import fault_of


def _check(case: Case) -> Iterator[Finding]:
    for setting in case.known_settings:
        fault = fault_of(setting)
        if fault and fault.ignored:
            yield RULE.finding(
                Level.WARN if fault.meant else Level.INFO,
                setting.name,
                f"{setting.name} (of {setting.origin}) {fault.message}",
                value=setting.value,
                origin=setting.origin,
                meant=fault.meant,
            )
    yield from unrecorded(RULE, case)


RULE = Rule(
    id="nccl-setting-ignored",
    title="A setting that NCCL does not read",
    levels=(Level.INFO, Level.WARN, Level.UNKNOWN),
    about=(
        "NCCL reads the settings that it knows and says nothing of others: a wrong name (NCCL_PROTOS), a blank before "
        "= in a file, a setting of an older release, or a level that it does not know changes nothing."
    ),
    passes="every NCCL_* that is set is one that NCCL 2.30 reads",
    reads=("NCCL_* of the environment", "NCCL_CONF_FILE or ~/.nccl.conf", "/etc/nccl.conf"),
    shows=("(no line 'NCCL_... set by environment to ...' at NCCL_DEBUG=INFO)",),
    sure="NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=ENV prints each setting that is read; railgauge env",
    remedy="take the name and the values from railgauge env, or remove the setting",
    links=("https://github.com/NVIDIA/nccl/issues/1008",),
    check=_check,
)
