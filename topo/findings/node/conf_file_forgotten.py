# SPDX-License-Identifier: Apache-2.0
"""Settings left in a file that disable a transport or force one choice on NCCL."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.nccl_settings import Setting, in_folder
from railgauge.topo.findings.cards.settings import CONF_FILE_FORGOTTEN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule, unrecorded
from railgauge.topo.findings.node.setting_harm import BINDING, Harm, harm_of
from railgauge.topo.machine import Machine

FILE = "NCCL_TOPO_FILE"


def _check(machine: Machine) -> Iterator[Finding]:
    for setting in machine.known_settings:
        if not setting.is_of_file:
            continue
        level, why, effect = harm_in_file(machine, setting)
        yield RULE.finding(
            level,
            setting.name,
            f"{setting.origin} has {setting.name}={setting.value}{f': {why}' if why else ''}",
            effect=effect,
            fix=level is not Level.INFO,
            value=setting.value,
            origin=setting.origin,
        )
    yield from unrecorded(RULE, machine)


def harm_in_file(machine: Machine, setting: Setting) -> Harm:
    """The harm of a setting in a file.

    A forced choice is a fault in a file, where it affects every job, but not in the environment of one job.
    """
    if setting.name == FILE and machine.reader:
        path = in_folder(machine.reader, setting.value)
        if machine.reader.knows(path) and not machine.reader.realpath(path):
            return Harm(Level.FAIL, "the file does not exist")
    harm = harm_of(machine, setting)
    if harm and setting.name in BINDING:
        return harm._replace(level=Level.WARN)
    return harm or Harm(Level.INFO, "")


RULE = Rule(card=CONF_FILE_FORGOTTEN, check=_check)
