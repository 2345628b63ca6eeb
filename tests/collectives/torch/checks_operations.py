# SPDX-License-Identifier: Apache-2.0
"""Every operation on CPU tensors, against what it should give."""

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh

from railgauge.collectives.torch.group import IS_BACKEND

IN_ONE_GROUP = True
EVERY_TYPE = (
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "complex32", "bool"),
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"),
)
LARGE = 100_003  # a prime, more than a slot
REDUCTIONS = {
    dist.ReduceOp.SUM: lambda some: some.sum(0),
    dist.ReduceOp.PRODUCT: lambda some: some.prod(0),
    dist.ReduceOp.MIN: lambda some: some.amin(0),
    dist.ReduceOp.MAX: lambda some: some.amax(0),
    dist.ReduceOp.AVG: lambda some: some.sum(0) / len(some),
}


def of_rank(rank, count, dtype=torch.float32):
    """What a rank has: small whole numbers, whose reductions are exact."""
    return ((torch.arange(count) + rank) % 3 + 1).to(dtype)


def of_all(place, count, dtype=torch.float32):
    return [of_rank(rank, count, dtype) for rank in range(place.ranks)]


def same(got, want):
    """Whether two tensors have the same bytes, of types that torch itself may not compare."""
    assert got.dtype == want.dtype
    got, want = (one.contiguous().reshape(-1).view(torch.uint8) for one in (got, want))
    assert torch.equal(got, want), (got, want)


def check_reductions(place):
    for op, reduced in REDUCTIONS.items():
        for count in (0, 1, 7, LARGE):
            want = reduced(torch.stack(of_all(place, count)))
            got = of_rank(place.rank, count)
            dist.all_reduce(got, op)
            torch.testing.assert_close(got, want)
            got = of_rank(place.rank, count)
            dist.reduce(got, place.ranks - 1, op)
            if place.rank == place.ranks - 1:
                torch.testing.assert_close(got, want)
            pieces = torch.stack(of_all(place, count * place.ranks))
            part = torch.empty(count)
            dist.reduce_scatter_tensor(part, pieces[place.rank], op)
            torch.testing.assert_close(part, reduced(pieces)[place.rank * count :][:count])


def check_a_tensor_alone(place):
    """DDP's join calls the group's own all_reduce with one tensor, not with a list of one."""
    x = torch.full((3,), 2.0)
    dist.group.WORLD.allreduce(x).wait()
    assert x.tolist() == [2.0 * dist.get_world_size()] * 3


def check_bitwise_and_scaled_reductions(place):
    bits = torch.tensor([1 << place.rank, 1 << 8])
    for op, want in ((dist.ReduceOp.BOR, [(1 << place.ranks) - 1, 1 << 8]), (dist.ReduceOp.BAND, [0, 1 << 8])):
        got = bits.clone()
        dist.all_reduce(got, op)
        assert got.tolist() == want
    got = torch.ones(3)
    dist.all_reduce(got, dist._make_nccl_premul_sum(0.5))
    assert got.tolist() == [place.ranks / 2] * 3


def check_moves_of_every_type(place):
    n = place.ranks
    for name in EVERY_TYPE:
        dtype = getattr(torch, name)
        mine, all_of_them = of_rank(place.rank, 4 * n, dtype), of_all(place, 4 * n, dtype)
        outputs = [torch.zeros(4 * n).to(dtype) for _ in range(n)]
        dist.all_gather(outputs, mine)
        for got, want in zip(outputs, all_of_them, strict=True):
            same(got, want)
        whole = torch.zeros(4 * n * n).to(dtype)
        dist.all_gather_into_tensor(whole, mine)
        same(whole, torch.cat(all_of_them))
        got = mine.clone()
        dist.broadcast(got, n - 1)
        same(got, all_of_them[-1])
        exchanged = torch.cat([one[4 * place.rank :][:4] for one in all_of_them])
        for splits in (None, [4] * n):
            got = torch.zeros(4 * n).to(dtype)
            dist.all_to_all_single(got, mine, splits, splits)
            same(got, exchanged)
        outputs = [torch.zeros(4).to(dtype) for _ in range(n)]
        dist.all_to_all(outputs, list(mine.split(4)))
        same(torch.cat(outputs), exchanged)


def check_parts_of_different_sizes(place):
    n, rank = place.ranks, place.rank
    outputs = [torch.empty(one + 1) for one in range(n)]
    dist.all_gather(outputs, torch.full((rank + 1,), float(rank)))
    assert [one.tolist() for one in outputs] == [[float(one)] * (one + 1) for one in range(n)]
    got = torch.empty(rank + 1)
    dist.reduce_scatter(got, [torch.ones(one + 1) for one in range(n)])
    assert got.tolist() == [n] * (rank + 1)
    got = torch.empty(n * rank, 2)
    sent = torch.full((sum(range(n)), 2), float(rank))
    dist.all_to_all_single(got, sent, [rank] * n, list(range(n)))
    assert got[:, 0].tolist() == [float(one) for one in range(n) for _ in range(rank)]


def check_rooted_moves(place):
    n, rank = place.ranks, place.rank
    for root in range(n):
        outputs = [torch.empty(5) for _ in range(n)] if rank == root else None
        dist.gather(of_rank(rank, 5), outputs, root)
        if rank == root:
            same(torch.stack(outputs), torch.stack(of_all(place, 5)))
        got = torch.empty(5)
        dist.scatter(got, of_all(place, 5) if rank == root else None, root)
        same(got, of_rank(rank, 5))


def check_tensors_that_are_not_in_row_order(place):
    image = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    dist.all_reduce(image)
    assert image.sum() == 120 * place.ranks
    columns = torch.zeros(4, place.ranks)
    dist.all_gather(list(columns.t()), torch.full((4,), float(place.rank)))
    assert columns.tolist() == [[float(one) for one in range(place.ranks)]] * 4


def check_async_works_and_futures(place):
    tensors = [torch.full((LARGE,), float(one)) for one in range(5)]
    works = [dist.all_reduce(one, async_op=True) for one in tensors]
    doubled = works[3].get_future().then(lambda done: done.value()[0] * 2)
    nested = works[4].get_future().then(lambda _: dist.all_reduce(torch.ones(1), async_op=True).wait())
    for work in works:
        assert work.wait()
        if not IS_BACKEND:  # torch 2.15 asks works of Python only for wait and get_future
            assert work.is_completed()
            assert work.is_success()
            assert work.exception() is None
    assert [one[0].item() for one in tensors] == [one * place.ranks for one in range(5)]
    assert doubled.wait()[0].item() == 6 * place.ranks
    assert nested.wait() is True
    barrier = dist.barrier(async_op=True)
    barrier.wait()


def check_point_to_point(place):
    n, rank = place.ranks, place.rank
    for count in (0, 3, LARGE):
        got = torch.empty(count)
        ops = [
            dist.P2POp(dist.isend, of_rank(rank, count), (rank + 1) % n, tag=7),
            dist.P2POp(dist.irecv, got, (rank - 1) % n, tag=7),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        same(got, of_rank((rank - 1) % n, count))
    if IS_BACKEND:  # dist.recv of torch 2.15 cannot ask a work of Python for the rank
        return
    if rank == 0:
        seen = set()
        for _ in range(n - 1):
            got = torch.empty(1)
            source = dist.recv(got)
            assert got.item() == source
            seen.add(source)
        assert seen == set(range(1, n))
    else:
        dist.send(torch.tensor([float(rank)]), 0)
    dist.barrier()


def check_objects(place):
    n, rank = place.ranks, place.rank
    found = [None] * n
    dist.all_gather_object(found, {"rank": rank})
    assert found == [{"rank": one} for one in range(n)]
    several = [rank, "x"]
    dist.broadcast_object_list(several, n - 1)
    assert several == [n - 1, "x"]
    mine = [None]
    dist.scatter_object_list(mine, [[one] for one in range(n)] if rank == 0 else None, 0)
    assert mine == [[rank]]


def check_coalesced_calls(place):
    tensors = [torch.full((3,), float(one)) for one in range(4)]
    with dist._coalescing_manager(async_ops=True) as together:
        for one in tensors:
            dist.all_reduce(one)
    together.wait()
    assert [one[0].item() for one in tensors] == [one * place.ranks for one in range(4)]
    outputs = [[torch.empty(2), torch.empty(3)] for _ in range(place.ranks)]
    dist.all_gather_coalesced(outputs, [torch.full((2,), float(place.rank)), torch.ones(3)])
    assert [one[0][0].item() for one in outputs] == list(map(float, range(place.ranks)))


def check_calls_are_events_of_the_profiler(place):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        dist.all_reduce(torch.ones(1))
        dist.broadcast(torch.ones(1), 0, async_op=True).wait()
    events = [(one.name, one.is_async) for one in profile.events() if one.name.startswith("railgauge:")]
    assert events == [("railgauge:all_reduce", False), ("railgauge:broadcast", True)]


def check_functional_collectives(place):
    world, n = dist.group.WORLD, place.ranks
    assert functional.all_reduce(torch.ones(2), "sum", world).tolist() == [n, n]
    gather, scatter = (
        getattr(functional, f"{name}_single", None) or getattr(functional, f"{name}_tensor")  # before 2.13
        for name in ("all_gather", "reduce_scatter")
    )
    assert gather(torch.ones(1), 0, world).tolist() == [1] * n
    assert scatter(torch.ones(n), "sum", 0, world).tolist() == [n]
    assert functional.all_to_all_single(torch.ones(n), None, None, world).tolist() == [1] * n


def check_groups_of_some_ranks(place):
    n, rank = place.ranks, place.rank
    for members in ([0], list(range(n)), [0, n - 1], list(range(1, n))):
        group = dist.new_group(members)
        if rank not in members:
            continue
        assert (dist.get_rank(group), dist.get_world_size(group)) == (members.index(rank), len(members))
        got = torch.ones(1)
        dist.all_reduce(got, group=group)
        assert got.item() == len(members)
        dist.broadcast(got := torch.tensor([float(rank)]), members[-1], group=group)
        assert got.item() == members[-1]
        dist.destroy_process_group(group)
    half = dist.group.WORLD.split_group([n - 1, 0], group_name=f"half-{n}")
    assert (half is None) == (rank not in (0, n - 1))
    if half:
        assert half.rank() == (0 if rank == n - 1 else 1)
        half.allreduce([got := torch.ones(1)]).wait()
        assert got.item() == 2
    mesh = init_device_mesh("cpu", (n, 1), mesh_dim_names=("replicate", "shard"))
    dist.all_reduce(got := torch.ones(1), group=mesh["replicate"].get_group())
    assert got.item() == n
