# SPDX-License-Identifier: Apache-2.0
"""Documents of `tune nccl`, with as much as the tuner plugin reads."""

RING_LL = {"algorithm": "ring", "protocol": "ll", "channels": 8, "sets_channels": False}
WIDE_TREE = {"algorithm": "tree", "protocol": "simple", "channels": 48, "sets_channels": True}


def row(size, *faster, channels=24):
    """One size, where NCCL takes a ring."""
    return {
        "bytes": size,
        "algorithm": "ring",
        "protocol": "simple",
        "channels": channels,
        "times_us": [10.0],
        "faster": list(faster),
        "measured": [],
    }


def gains(*rows, **more):
    """The document."""
    facts = {"schema": "railgauge/nccl-tuning/1", "collective": "all_reduce", "ranks": 2, "nodes": 1}
    return facts | {"nccl": "2.28.9", "gpus": ["GPU of a test"], "rows": list(rows)} | more
