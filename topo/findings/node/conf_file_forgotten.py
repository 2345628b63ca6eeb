# SPDX-License-Identifier: Apache-2.0
"""Settings left in a file that disable a transport or force one choice on NCCL."""

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
    """The harm of a setting in a file.

    A forced choice is a fault in a file, where it affects every job, but not in the environment of one job.
    """
    if setting.name == FILE and case.reader:
        path = in_folder(case.reader, setting.value)
        if case.reader.knows(path) and not case.reader.realpath(path):
            return Harm(Level.FAIL, "the file does not exist")
    harm = harm_of(case, setting)
    if harm and setting.name in BINDING:
        return harm._replace(level=Level.WARN)
    return harm or Harm(Level.INFO, "")


RULE = Rule(card=CONF_FILE_FORGOTTEN, check=_check)
