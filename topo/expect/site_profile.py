# SPDX-License-Identifier: Apache-2.0
"""A site's profile, made from a good node: what it has of every key."""

from collections import Counter
from collections.abc import Mapping

from railgauge.topo.expect.key import KEYS, Expected
from railgauge.topo.expect.observed import Observed, observed
from railgauge.topo.expect.profile import Profile
from railgauge.topo.facts.machine_facts import MachineFacts

COUNTED = ("gpus", "nics", "nvswitches")


def profile_of(facts: MachineFacts, name: str, about: str) -> tuple[Profile, Mapping[str, str]]:
    """The profile, and why keys are left out of it; what the machine has none of is left out without a word."""
    found = {key: observed(key, facts) for key in KEYS}
    values = {key: value for key, one in found.items() if (value := _value(key, one)) is not None}
    unread = {key: one.why or "could not be read on all devices" for key, one in found.items() if _is_unread(one)}
    return Profile(name=name, about=about, expect=values), unread


def _is_unread(one: Observed) -> bool:
    return bool(one.why and not one.values) or None in one.values.values()


def _value(key: str, one: Observed) -> Expected | None:
    """The value of all devices, or how many have each; a key that not all devices tell is left out."""
    counts = Counter(value for value in one.values.values() if value is not None)
    if not counts or _is_unread(one) or (key in COUNTED and "0" in counts):
        return None
    return dict(counts) if len(counts) > 1 else next(iter(counts))
