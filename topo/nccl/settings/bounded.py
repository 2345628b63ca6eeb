# SPDX-License-Identifier: Apache-2.0
"""Numbers among NCCL's settings that have to be what they are for: where NCCL would take another value, or fail later,
this is an error that says what is valid.
"""

from collections.abc import Mapping

from railgauge.topo.errors import UsageError
from railgauge.topo.facts.known_settings import KNOWN
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.topo.values.number import strtol


def bounded(environment: Mapping[str, str], name: str, default: int) -> int:
    """A setting's number.

    Raises:
        UsageError: it is none, or beyond the bounds in facts/known_settings.py.
    """
    text, known = environment.get(name), KNOWN[name]
    value = parameter(environment, name, default)
    least, most = known.least, known.most
    outside = (least is not None and value < least) or (most is not None and value > most)
    if outside or (text and strtol(text) is None):
        wanted = "a whole number" if least is None else f"a number from {least}"
        wanted += "" if most is None else f" to {most}"
        raise UsageError(f"{name}={text}: it is {known.meaning}, {wanted} (without it {default})")
    return value
