# SPDX-License-Identifier: Apache-2.0
"""What the native engine has recorded of a rank, as standings."""

from railgauge._native import collectives as native
from railgauge.collectives.dtype import dtype_label, redop_label
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.tuning import RUN_BY
from railgauge.transports.group import Group
from railgauge.transports.standing import BlockedOn, Operation, Standing

COLLECTIVES = (*NUMBERS, "alltoallv", "barrier")
"""In the order of the native engine's numbers (collectives/native/operation.h)."""
COPY = "copy"
"""How an operation of a single rank is run."""


def standing(engine: native.Communicator, group: Group) -> Standing:
    """A rank's state in a communicator; for any thread."""
    on = engine.blocked_on
    blocked_on = BlockedOn(on.rank, on.frees_slot, on.channel, on.step)
    return Standing(group.name, list(group.members), [_operation(each) for each in engine.operations], blocked_on)


def _operation(recorded: native.Recorded) -> Operation:
    return Operation(
        number=recorded.number,
        collective=str(COLLECTIVES[recorded.collective]),
        elements=recorded.count,
        dtype=dtype_label(recorded.dtype),
        op=redop_label(recorded.op) if recorded.op >= 0 else "",
        root=recorded.root,
        algorithm=str(RUN_BY[recorded.algorithm]) if recorded.algorithm >= 0 else COPY,
        channels=recorded.channels,
        began_s=recorded.began_s,
        took_us=recorded.took_us,
    )
