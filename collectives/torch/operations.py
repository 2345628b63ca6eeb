# SPDX-License-Identifier: Apache-2.0
"""The collectives of torch.distributed, each laid out on the engine's: one table, which all devices use.

A prepared operation runs on any `Collectives`. Torch's lists of tensors go through one flat tensor, since the engine
moves arrays that lie in one piece.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch._C import _distributed_c10d as c10d

from railgauge.collectives.collectives import ALL_GATHER, ALL_REDUCE, BROADCAST, REDUCE_SCATTER, SUM, Collectives
from railgauge.collectives.torch.tensors import OPERATORS, moved, operator, reduced
from railgauge.topo.errors import UsageError


class Position(NamedTuple):
    """A rank in its group."""

    rank: int
    size: int


class TorchOperation(NamedTuple):
    """A call, checked and laid out: `run` makes the engine's calls and puts the results where the caller has them."""

    run: Callable[[Collectives], object]
    inputs: Sequence[Any]
    outputs: Sequence[Any]


Prepare = Callable[..., TorchOperation]


def all_reduce(at: Position, tensor: Any, opts: Any) -> TorchOperation:
    """Every rank's elements reduced, in place."""
    array, op = reduced(tensor), operator(opts.reduceOp)
    return TorchOperation(lambda on: on.all_reduce(array, op=op), [tensor], [tensor])


def reduce(at: Position, tensor: Any, opts: Any) -> TorchOperation:
    """The same on the root alone."""
    array, op, root = reduced(tensor), operator(opts.reduceOp), opts.rootRank
    return TorchOperation(lambda on: on.reduce(array, op=op, root=root), [tensor], [tensor])


def broadcast(at: Position, tensor: Any, opts: Any) -> TorchOperation:
    """The root's elements on every rank."""
    array, root = moved(tensor), opts.rootRank
    return TorchOperation(lambda on: on.broadcast(array, root=root), [tensor], [tensor])


def all_gather_single(at: Position, output: Any, input: Any, opts: Any) -> TorchOperation:
    """All ranks' elements, one after another."""
    source, destination = moved(input.contiguous()), moved(_in_one_piece(output))
    return TorchOperation(lambda on: on.all_gather(source, destination), [input], [output])


def all_gather(at: Position, outputs: Sequence[Any], input: Any, opts: Any) -> TorchOperation:
    """All ranks' elements, a tensor each; their sizes may differ, and are known to all."""
    _check_length(outputs, at)
    if len({output.numel() for output in outputs}) > 1:
        return _uneven_all_gather(at, outputs, input)
    source, flat = input.contiguous(), input.new_empty((at.size, input.numel()))
    arrays = moved(source), moved(flat)
    if outputs[0].numel() != input.numel():
        raise UsageError(f"the input has {input.numel()} elements, the outputs {outputs[0].numel()}")

    def run(on: Collectives) -> None:
        on.all_gather(*arrays)
        _spread(flat, outputs)

    return TorchOperation(run, [input], outputs)


def _uneven_all_gather(at: Position, outputs: Sequence[Any], input: Any) -> TorchOperation:
    if outputs[at.rank].numel() != input.numel():
        raise UsageError(f"the input has {input.numel()} elements, output {at.rank} {outputs[at.rank].numel()}")
    arrays = [moved(_in_one_piece(output)) for output in outputs]

    def run(on: Collectives) -> None:
        outputs[at.rank].copy_(input.reshape(outputs[at.rank].shape))
        for root, array in enumerate(arrays):
            on.broadcast(array, root=root)

    return TorchOperation(run, [input], outputs)


def reduce_scatter_single(at: Position, output: Any, input: Any, opts: Any) -> TorchOperation:
    """This rank's part of all ranks' elements, reduced."""
    source, destination, op = reduced(input.contiguous()), reduced(_in_one_piece(output)), operator(opts.reduceOp)
    return TorchOperation(lambda on: on.reduce_scatter(source, destination, op), [input], [output])


def reduce_scatter(at: Position, output: Any, inputs: Sequence[Any], opts: Any) -> TorchOperation:
    """The same of a tensor for each rank; their sizes may differ."""
    _check_length(inputs, at)
    op, destination = operator(opts.reduceOp), reduced(_in_one_piece(output))
    if len({input.numel() for input in inputs}) == 1:
        source = reduced(torch.cat([input.reshape(-1) for input in inputs]))
        return TorchOperation(lambda on: on.reduce_scatter(source, destination, op), inputs, [output])
    arrays = [reduced(input.contiguous()) for input in inputs]

    def run(on: Collectives) -> None:
        for root, array in enumerate(arrays):
            on.reduce(array, destination if root == at.rank else None, op, root)

    return TorchOperation(run, inputs, [output])


def gather(at: Position, outputs: Sequence[Any] | None, input: Any, opts: Any) -> TorchOperation:
    """All ranks' elements on the root, a tensor each."""
    root, source = opts.rootRank, moved(input.contiguous())
    if at.rank != root or outputs is None:
        return TorchOperation(lambda on: on.gather(source, None, root), [input], [])
    _check_length(outputs, at)
    flat = input.new_empty((at.size, input.numel()))
    destination = moved(flat)

    def run(on: Collectives) -> None:
        on.gather(source, destination, root)
        _spread(flat, outputs)

    return TorchOperation(run, [input], outputs)


def scatter(at: Position, output: Any, inputs: Sequence[Any] | None, opts: Any) -> TorchOperation:
    """On every rank, its tensor of the root's."""
    root, destination = opts.rootRank, moved(_in_one_piece(output))
    source = None
    if at.rank == root and inputs is not None:
        _check_length(inputs, at)
        source = moved(torch.cat([input.reshape(-1) for input in inputs]))
    return TorchOperation(lambda on: on.scatter(source, destination, root), inputs or [], [output])


def all_to_all_single(
    at: Position, output: Any, input: Any, received: Sequence[int], sent: Sequence[int], opts: Any
) -> TorchOperation:
    """Parts of the first dimension, one for each rank, exchanged; without lengths, equal ones."""
    source, destination = moved(input.contiguous()), moved(_in_one_piece(output))
    if not received and not sent:
        return TorchOperation(lambda on: on.alltoall(source, destination), [input], [output])
    counts = [
        _counts(split, tensor, array, at)
        for split, tensor, array in ((sent, input, source), (received, output, destination))
    ]
    return TorchOperation(lambda on: on.alltoallv(source, counts[0], destination, counts[1]), [input], [output])


def all_to_all(at: Position, outputs: Sequence[Any], inputs: Sequence[Any], opts: Any) -> TorchOperation:
    """A tensor for each rank exchanged for one from each."""
    _check_length(outputs, at)
    _check_length(inputs, at)
    flat = torch.cat([output.new_empty(output.numel()) for output in outputs])
    arrays = moved(torch.cat([input.reshape(-1) for input in inputs])), moved(flat)
    sent, received = (
        [tensor.numel() * _length(array) // max(sum(one.numel() for one in tensors), 1) for tensor in tensors]
        for array, tensors in zip(arrays, (inputs, outputs), strict=True)
    )

    def run(on: Collectives) -> None:
        on.alltoallv(arrays[0], sent, arrays[1], received)
        _spread(flat.split([output.numel() for output in outputs]), outputs)

    return TorchOperation(run, inputs, outputs)


def _counts(split: Sequence[int], tensor: Any, array: Any, at: Position) -> list[int]:
    """How many elements of the array each rank has of the parts of a tensor's first dimension."""
    rows = tensor.shape[0] if tensor.dim() else 1
    if not split:
        if rows % at.size:
            raise UsageError(f"{rows} rows cannot be divided among {at.size} ranks")
        split = [rows // at.size] * at.size
    if len(split) != at.size or sum(split) != rows:
        raise UsageError(f"split sizes {list(split)}: expected one for each of {at.size} ranks, with the sum {rows}")
    return [rows_of_one * _length(array) // max(rows, 1) for rows_of_one in split]


def _length(array: Any) -> int:
    return int(array.numel() if isinstance(array, torch.Tensor) else array.size)


def _in_one_piece(output: Any) -> Any:
    if not output.is_contiguous():
        raise UsageError(f"an output of shape {tuple(output.shape)} is not contiguous: call .contiguous() first")
    return output


def _check_length(tensors: Sequence[Any], at: Position) -> None:
    if len(tensors) != at.size:
        raise UsageError(f"a list of {len(tensors)} tensors: expected one for each of {at.size} ranks")


def _spread(flat: Sequence[Any], outputs: Sequence[Any]) -> None:
    for part, output in zip(flat, outputs, strict=True):
        if output.numel() != part.numel():
            raise UsageError(f"an output has {output.numel()} elements, and {part.numel()} were sent")
        output.detach().copy_(part.view(output.shape))


def _each(prepare: Prepare) -> Prepare:
    """The same for lists of its arguments, one call after another; a rank that is not the root may pass empty ones."""

    def all_of_them(at: Position, *columns: Any) -> TorchOperation:
        *given, opts = columns
        if len(given) == 1 and isinstance(given[0], list) and len(given[0]) == 1:  # most calls
            return prepare(at, given[0][0], opts)
        lists = [[one] if isinstance(one, torch.Tensor) else one for one in given]  # DDP's join passes one tensor
        count = max(map(len, lists))
        rows = zip(*(column or [None] * count for column in lists), strict=True)
        made = [prepare(at, *row, opts) for row in rows]
        if len(made) == 1:
            return made[0]

        def run(on: Collectives) -> None:
            for one in made:
                one.run(on)

        return TorchOperation(run, [t for one in made for t in one.inputs], [t for one in made for t in one.outputs])

    return all_of_them


def _by_rank(at: Position, outputs: Sequence[Sequence[Any]], inputs: Sequence[Any], opts: Any) -> TorchOperation:
    """Several all_gathers, whose outputs are listed by rank first."""
    return _each(all_gather)(at, list(zip(*outputs, strict=True)), inputs, opts)


Engine = tuple[int, Any, Any, Any, int]
"""A call as the engine itself takes it: its number of the collective, source, destination, operator and root."""


def _all_reduce_as_is(tensors: Sequence[Any], opts: Any) -> Engine | None:
    return (ALL_REDUCE, tensors[0], tensors[0], _known(opts.reduceOp), 0) if len(tensors) == 1 else None


def _broadcast_as_is(tensors: Sequence[Any], opts: Any) -> Engine | None:
    return (BROADCAST, tensors[0], tensors[0], SUM, opts.rootRank) if len(tensors) == 1 else None


def _all_gather_as_is(output: Any, input: Any, opts: Any) -> Engine:
    return ALL_GATHER, input, output, SUM, 0


def _reduce_scatter_as_is(output: Any, input: Any, opts: Any) -> Engine:
    return REDUCE_SCATTER, input, output, _known(opts.reduceOp), 0


def _known(op: Any) -> Any:
    return OPERATORS.get(getattr(op, "op", op).value)


class TorchRow(NamedTuple):
    """An operation of torch's ProcessGroup: how it is prepared, its options, and its name in messages and records."""

    prepare: Prepare
    options: Any
    label: str
    as_is: Callable[..., Engine | None] | None = None
    """As the engine takes it, whose native code reads the tensors; it refuses those that have to be prepared."""


OPERATIONS = {
    "allreduce": TorchRow(_each(all_reduce), c10d.AllreduceOptions, "all_reduce", _all_reduce_as_is),
    "allreduce_coalesced": TorchRow(_each(all_reduce), c10d.AllreduceCoalescedOptions, "allreduce_coalesced"),
    "reduce": TorchRow(_each(reduce), c10d.ReduceOptions, "reduce"),
    "broadcast": TorchRow(_each(broadcast), c10d.BroadcastOptions, "broadcast", _broadcast_as_is),
    "allgather": TorchRow(_each(all_gather), c10d.AllgatherOptions, "all_gather"),
    "allgather_coalesced": TorchRow(_by_rank, c10d.AllgatherOptions, "all_gather"),
    "all_gather_single": TorchRow(all_gather_single, c10d.AllgatherOptions, "_all_gather_base", _all_gather_as_is),
    "all_gather_single_coalesced": TorchRow(
        _each(all_gather_single), c10d.AllgatherOptions, "all_gather_into_tensor_coalesced"
    ),
    "reduce_scatter": TorchRow(_each(reduce_scatter), c10d.ReduceScatterOptions, "reduce_scatter"),
    "reduce_scatter_single": TorchRow(
        reduce_scatter_single, c10d.ReduceScatterOptions, "_reduce_scatter_base", _reduce_scatter_as_is
    ),
    "reduce_scatter_single_coalesced": TorchRow(
        _each(reduce_scatter_single), c10d.ReduceScatterOptions, "reduce_scatter_tensor_coalesced"
    ),
    "gather": TorchRow(_each(gather), c10d.GatherOptions, "gather"),
    "scatter": TorchRow(_each(scatter), c10d.ScatterOptions, "scatter"),
    "all_to_all_single": TorchRow(all_to_all_single, c10d.AllToAllOptions, "all_to_all"),
    "alltoall": TorchRow(all_to_all, c10d.AllToAllOptions, "all_to_all"),
}
OTHER_SPELLINGS = {
    "_allgather_base": "all_gather_single",
    "allgather_into_tensor_coalesced": "all_gather_single_coalesced",
    "_reduce_scatter_base": "reduce_scatter_single",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_single_coalesced",
    "alltoall_base": "all_to_all_single",
}
"""Names of releases of torch before 2.13, which renamed them."""
