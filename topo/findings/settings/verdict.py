# SPDX-License-Identifier: Apache-2.0
"""The opinion on a setting: a verdict, why, and the finding with more detail."""

from dataclasses import dataclass
from enum import StrEnum

from railgauge.topo.findings.finding import Finding


class SettingVerdict(StrEnum):
    """effective: it changes something. harmless: it changes nothing. ignored: it is not read.
    harmful: it breaks or slows something down. unknown: not enough is known of the machine.
    """

    EFFECTIVE = "effective"
    HARMLESS = "harmless"
    IGNORED = "ignored"
    HARMFUL = "harmful"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A verdict with its reason; finding: the id of the rule that reports the same, None without one. failure: the
    finding that an error of railgauge itself kept from an answer or from its effect.
    """

    verdict: SettingVerdict
    why: str
    finding: str | None = None
    failure: Finding | None = None
