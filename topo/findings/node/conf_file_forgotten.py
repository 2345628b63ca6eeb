# SPDX-License-Identifier: Apache-2.0
"""Settings left in a file that disable a transport or force one choice on NCCL."""

from collections.abc import Iterator

from railgauge.topo.facts.known_settings import BINDING
from railgauge.topo.facts.sources.nccl_settings import VISIBLE, Setting, in_folder, read_former
from railgauge.topo.findings.cards.settings import CONF_FILE_FORGOTTEN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule, unrecorded
from railgauge.topo.findings.node.setting_harm import Harm, harm_of
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.validity import is_meant_for_nccl

FILE = "NCCL_TOPO_FILE"
SETS = "NCCL sets any name of its files, for the process and those that it starts"
HIDES = f"{SETS}; CUDA that starts after NCCL finds only these GPUs"


def _check(machine: Machine) -> Iterator[Finding]:
    for setting in machine.known_settings:
        if not setting.is_of_file:
            continue
        harm = harm_in_file(machine, setting)
        found = RULE.finding(
            harm.level,
            setting.name,
            f"{setting.origin} has {setting.name.strip()}={setting.value}{f': {harm.what}' if harm.what else ''}",
            fix=harm.level is not Level.INFO,
            value=setting.value,
            origin=setting.origin,
        )
        yield harm.on(found)
    yield from _former(machine)
    yield from unrecorded(RULE, machine)


def _former(machine: Machine) -> Iterator[Finding]:
    """The user's file in the home folder of the user database, where $HOME is another one."""
    found = read_former(machine.reader) if machine.reader else ()
    for path, names in {one.origin: [it.name for it in found] for one in found}.items():
        yield RULE.finding(
            Level.INFO,
            path,
            f"{path} has {', '.join(names)}: NCCL up to 2.29 reads it, 2.30 and later read .nccl.conf in $HOME",
            fix=False,
            names=names,
        )


def harm_in_file(machine: Machine, setting: Setting) -> Harm:
    """The harm of a setting in a file.

    A forced choice is a fault in a file, where it affects every job, but not in the environment of one job.
    """
    if setting.name == VISIBLE:
        return Harm(Level.WARN, HIDES)
    if not is_meant_for_nccl(setting.name):
        return Harm(Level.INFO, SETS)
    if setting.name == FILE and machine.reader:
        path = in_folder(machine.reader, setting.value)
        if machine.reader.knows(path) and not machine.reader.realpath(path):
            return Harm(Level.FAIL, "the file does not exist")
    harm = harm_of(machine, setting)
    if harm and setting.name in BINDING:
        return harm._replace(level=Level.WARN)
    return harm or Harm(Level.INFO, "")


RULE = Rule(card=CONF_FILE_FORGOTTEN, check=_check)
