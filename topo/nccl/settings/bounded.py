# SPDX-License-Identifier: Apache-2.0
"""NCCL settings with a bounded number: an invalid value, which NCCL would replace or fail on later, is an error that
says what is valid.
"""

from collections.abc import Mapping

from railgauge.topo.errors import UsageError
from railgauge.topo.facts.known_settings import KNOWN
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.topo.values.number import strtol


def bounded(environment: Mapping[str, str], name: str, default: int) -> int:
    """A setting's number.

    Raises:
        UsageError: it is not a number, or out of the bounds in facts/known_settings.py.
    """
    text, known = environment.get(name), KNOWN[name]
    value = parameter(environment, name, default)
    least, most = known.least, known.most
    outside = (least is not None and value < least) or (most is not None and value > most)
    if outside or (text and strtol(text) is None):
        what = f"out of range {least}..{'' if most is None else most}" if outside else "not a number"
        raise UsageError(f"{name}={text} is {what} ({known.meaning}); default {default}")
    return value
