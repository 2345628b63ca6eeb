# SPDX-License-Identifier: Apache-2.0
"""Error counters of two readings of one machine, as rates."""

from collections.abc import Mapping

from railgauge.topo.facts.machine_facts import MachineFacts

Counters = Mapping[tuple[str, str], int]
"""Counts by device ("mlx5_0:1") and name of the counter."""


def counters(facts: MachineFacts) -> Counters:
    """The error counters of one reading."""
    return {
        (f"{port.device}:{port.port}", name): count for port in facts.port_errors for name, count in port.counts.items()
    }


def rates(before: Counters, after: Counters, between_s: float) -> dict[tuple[str, str], float]:
    """Counts a second, of counters that both readings have; one that is lower than before was reset: from 0.

    between_s: the time from one reading to the other, more than 0.
    """
    return {
        key: (count - before[key] if count >= before[key] else count) / between_s
        for key, count in after.items()
        if key in before
    }
