# SPDX-License-Identifier: Apache-2.0
"""Outputs that are cut, garbled, mixed and repeated end in a machine or in InputError, never in another error."""

import random

import pytest
from tests.topo.facts.pasted import texts

from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import CaptureReader, dumps, loads
from railgauge.topo.facts.pasted.read import READERS, read
from railgauge.topo.findings.node.rules import RULES, check
from railgauge.topo.machine import recorded

ROUNDS = 12
NOISE = '0123456789abcdefxX:.-+\\[]()|, \t\nGPUNVSYS\u00e9\u2028\x00\x7f{}"<>/'


def garbled(text, dice):
    """The text with lines left out, doubled or moved, and characters changed."""
    lines = text.splitlines()
    for _ in range(dice.randint(0, 4)):
        at = dice.randrange(len(lines) or 1)
        lines[at : at + 1] = dice.choice([[], lines[at : at + 1] * 2, [dice.choice(lines or [""])]])
    found = list("\n".join(lines))
    for _ in range(dice.randint(0, 12)):
        if found:
            at = dice.randrange(len(found))
            found[at : at + dice.randint(0, 3)] = dice.choice(NOISE) * dice.randint(0, 2)
    return "".join(found)[: dice.randint(1, len(text) + 99)]


@pytest.mark.parametrize("tool", texts.ALL)
def test_a_garbled_output_is_a_machine_or_bad_input(tool):
    dice = random.Random(tool)
    for _ in range(ROUNDS):
        pasted = [garbled(texts.ALL[tool], dice)]
        if dice.random() < 0.3:
            pasted.append(garbled(dice.choice(list(texts.ALL.values())), dice))
        try:
            capture = read([(f"{number}.txt", text.encode()) for number, text in enumerate(pasted)])
        except InputError:
            continue
        assert loads(dumps(capture), "x").facts.keys() == capture.facts.keys()
        try:
            machine = recorded(CaptureReader(capture))
            findings = check(machine, RULES)
        except InputError:
            continue
        assert not [one.message for one in findings if "internal error" in one.message]


@pytest.mark.parametrize("reader", READERS, ids=lambda one: f"{one.__module__.rpartition('.')[2]}.{one.__name__}")
def test_a_reader_takes_any_text(reader):
    from railgauge.topo.facts.pasted.host import PastedHost

    dice = random.Random(7)
    for _ in range(ROUNDS * 5):
        reader("".join(dice.choice(NOISE) for _ in range(dice.randint(0, 400))), PastedHost())
