# SPDX-License-Identifier: Apache-2.0
"""What is said of a setting: a verdict, why, and the finding that tells more."""

from dataclasses import dataclass
from enum import StrEnum


class SettingVerdict(StrEnum):
    """effective: it changes something. harmless: all stays as it would be without it. ignored: nothing reads it.
    harmful: it breaks or slows something down. unknown: the machine does not tell.
    """

    EFFECTIVE = "effective"
    HARMLESS = "harmless"
    IGNORED = "ignored"
    HARMFUL = "harmful"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A verdict with its reason; finding is the id of the rule that says the same, None without one."""

    verdict: SettingVerdict
    why: str
    finding: str | None = None
