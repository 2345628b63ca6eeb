# SPDX-License-Identifier: Apache-2.0
"""All findings of `log hang`, in the order in which they are told: what is sure before what is concluded."""

from railgauge.topo.jobs.hang.rules import (
    evidence_short,
    operation_mismatch,
    operation_stuck,
    rank_behind,
    rank_failed,
    rank_left,
    rank_missing,
    start_stuck,
)

RULES = (
    rank_failed.RULE,
    rank_missing.RULE,
    operation_mismatch.RULE,
    start_stuck.RULE,
    rank_behind.RULE,
    operation_stuck.RULE,
    rank_left.RULE,
    evidence_short.RULE,
)
