# SPDX-License-Identifier: Apache-2.0
"""Settings in a file that nobody remembers, which turn a transport off or bind NCCL to one choice."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.nccl_settings import Setting, in_folder
from railgauge.topo.findings.cards.settings import CONF_FILE_FORGOTTEN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule, unrecorded
from railgauge.topo.findings.node.setting_harm import BINDING, Harm, harm_of

FILE = "NCCL_TOPO_FILE"


def _check(case: Case) -> Iterator[Finding]:
    for setting in case.known_settings:
        if not setting.is_of_file:
            continue
        level, why, effect = harm_in_file(case, setting)
        yield RULE.finding(
            level,
            setting.name,
            f"{setting.origin} has {setting.name}={setting.value}{f': {why}' if why else ''}",
            effect=effect,
            fix=level is not Level.INFO,
            value=setting.value,
            origin=setting.origin,
        )
    yield from unrecorded(RULE, case)


def harm_in_file(case: Case, setting: Setting) -> Harm:
    """What a setting of a file takes from the machine.

    What binds every job is a fault there, where the environment of one job may do so.
    """
    if setting.name == FILE and case.reader:
        path = in_folder(case.reader, setting.value)
        if case.reader.knows(path) and not case.reader.realpath(path):
            return Harm(Level.FAIL, "there is no such file")
    harm = harm_of(case, setting)
    if harm and setting.name in BINDING:
        return harm._replace(level=Level.WARN)
    return harm or Harm(Level.INFO, "")


RULE = Rule(card=CONF_FILE_FORGOTTEN, check=_check)
