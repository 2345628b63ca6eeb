# SPDX-License-Identifier: Apache-2.0
"""Settings in a file that nobody remembers, which turn a transport off or bind NCCL to one choice."""

from collections.abc import Iterator

from railgauge.topo.findings import Finding, Level
from railgauge.topo.rules.case import Case
from railgauge.topo.rules.rule import Rule, unrecorded
from railgauge.topo.settings.parameter import parameter
from railgauge.topo.sources.nccl_settings import Setting

SWITCHES = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_PXN_DISABLE", "NCCL_NVB_DISABLE")
"""What turns off a part of NCCL, as one does to find an error."""
CHOICES = ("NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_NTHREADS", "NCCL_BUFFSIZE", "NCCL_GRAPH_FILE")
"""What binds NCCL to one choice for all jobs, sizes and numbers of nodes."""
FILE = "NCCL_TOPO_FILE"


def _check(case: Case) -> Iterator[Finding]:
    for setting in case.known_settings:
        if not setting.is_of_file:
            continue
        level, why = _judged(case, setting)
        yield RULE.finding(
            level,
            setting.name,
            f"{setting.origin} has {setting.name}={setting.value}{why}",
            remedy="" if level is Level.INFO else None,
            value=setting.value,
            origin=setting.origin,
        )
    yield from unrecorded(RULE, case)


def _judged(case: Case, setting: Setting) -> tuple[Level, str]:
    if setting.name in SWITCHES and parameter({setting.name: setting.value}, setting.name, 0):
        return Level.WARN, ", which turns off a part of NCCL for every job"
    if setting.name == "NCCL_NET" and setting.value.lower() == "socket" and case.inventory and case.inventory.rdma:
        return Level.WARN, ", which keeps every job from RDMA"
    if setting.name in CHOICES:
        return Level.WARN, ", which binds every job to one choice"
    if setting.name == FILE and case.reader and not case.reader.realpath(setting.value) and case.live:
        return Level.FAIL, ", and there is no such file"
    return Level.INFO, ""


RULE = Rule(
    id="conf-file-forgotten",
    title="Settings in a file of NCCL's",
    levels=(Level.INFO, Level.WARN, Level.FAIL, Level.UNKNOWN),
    about=(
        "NCCL reads NCCL_CONF_FILE, or else ~/.nccl.conf, and always /etc/nccl.conf. They hold for every job and "
        "container that sees them, and stay after whoever wrote them to find an error has gone."
    ),
    passes="no file of NCCL's sets anything",
    reads=("NCCL_CONF_FILE or ~/.nccl.conf", "/etc/nccl.conf"),
    shows=("NCCL_P2P_DISABLE set by environment to 1.",),
    sure="cat /etc/nccl.conf ~/.nccl.conf; railgauge env",
    remedy="remove the line, or set the name to another value in the environment, which wins",
    links=("https://github.com/NVIDIA/nccl/issues/1008", "https://github.com/NVIDIA/nccl/issues/1466"),
    check=_check,
)
