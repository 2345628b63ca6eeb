# SPDX-License-Identifier: Apache-2.0
"""CUDA tensors on GPUs, one for each rank: results, streams, graphs, several groups, sends and receives, training."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

IN_ONE_GROUP = True
MANY = 1_000_003
BUSY_CYCLES = 200_000_000
"""About a tenth of a second of a GPU's clock, in which no result can be there yet."""
REDUCED = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64")


def own(place):
    torch.cuda.set_device(place.rank)
    return torch.device("cuda", place.rank)


def of_rank(rank, count, device, dtype=torch.float32):
    return ((torch.arange(count, device=device) + rank) % 3 + 1).to(dtype)


def check_every_collective(place):
    device, n, rank = own(place), place.ranks, place.rank
    for name in REDUCED:
        dtype = getattr(torch, name)
        for count in (1, 7, MANY):
            everyone = torch.stack([of_rank(one, count, device, dtype) for one in range(n)])
            total = everyone.sum(0, dtype=dtype)
            dist.all_reduce(got := everyone[rank].clone())
            assert torch.equal(got, total), (name, count)
            dist.broadcast(got := everyone[rank].clone(), n - 1)
            assert torch.equal(got, everyone[-1])
            dist.all_gather_into_tensor(whole := torch.empty(n * count, dtype=dtype, device=device), everyone[rank])
            assert torch.equal(whole, everyone.view(-1))
            dist.all_gather(parts := [torch.empty_like(total) for _ in range(n)], everyone[rank])
            assert torch.equal(torch.stack(parts), everyone)
            dist.reduce_scatter_tensor(part := torch.empty_like(total), total.repeat(n))
            assert torch.equal(part, total * n)
            exchanged = torch.empty(n * count, dtype=dtype, device=device)
            dist.all_to_all_single(exchanged, everyone[rank].repeat(n))
            assert torch.equal(exchanged, everyone.view(-1))
            dist.reduce(got := everyone[rank].clone(), 0)
            assert rank or torch.equal(got, total)
    for op, want in ((dist.ReduceOp.MAX, n), (dist.ReduceOp.MIN, 1), (dist.ReduceOp.AVG, (n + 1) / 2)):
        dist.all_reduce(got := torch.full((5,), rank + 1.0, device=device), op)
        assert got.tolist() == [want] * 5
    dist.all_reduce(flag := torch.tensor([rank == 0, False], device=device))
    assert flag.tolist() == [True, False]
    dist.all_reduce(got := torch.ones(3, device=device), dist._make_nccl_premul_sum(0.5))
    assert got.tolist() == [n / 2] * 3
    outputs = [torch.empty(3, device=device) for _ in range(n)] if rank == 0 else None
    dist.gather(torch.full((3,), float(rank), device=device), outputs, 0)
    assert rank or [one[0].item() for one in outputs] == list(range(n))
    dist.scatter(got := torch.empty(2, device=device), outputs and [one[:2].clone() for one in outputs], 0)
    assert got[0].item() == rank


def check_sends_and_receives(place):
    device, n, rank = own(place), place.ranks, place.rank
    for count in (1, 1000, 5 * MANY):
        got = torch.empty(count, device=device)
        ops = [
            dist.P2POp(dist.isend, of_rank(rank, count, device), (rank + 1) % n),
            dist.P2POp(dist.irecv, got, (rank - 1) % n),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        assert torch.equal(got, of_rank((rank - 1) % n, count, device))
        if rank == 0:
            dist.send(of_rank(7, count, device), 1)
        elif rank == 1:
            dist.recv(got, 0)
            assert torch.equal(got, of_rank(7, count, device))
    if rank == 0:
        for work in [dist.isend(of_rank(tag, MANY, device), 1, tag=tag) for tag in (3, 4)]:
            work.wait()
    elif rank == 1:
        came = {tag: torch.empty(MANY, device=device) for tag in (4, 3)}
        for work in [dist.irecv(array, 0, tag=tag) for tag, array in came.items()]:
            work.wait()
        assert all(torch.equal(array, of_rank(tag, MANY, device)) for tag, array in came.items())


def check_the_program_does_not_wait(place):
    """A call is behind what its stream does, and waiting for a work holds up the stream alone."""
    device = own(place)
    side = torch.cuda.Stream()
    for stream in (torch.cuda.current_stream(), side):
        for is_async in (False, True):
            dist.barrier()
            side.wait_stream(torch.cuda.default_stream())
            with torch.cuda.stream(stream):
                data = torch.zeros(MANY, device=device)
                torch.cuda._sleep(BUSY_CYCLES)
                data += place.rank + 1
                work = dist.all_reduce(data, async_op=is_async)
                if work:
                    work.wait()
                doubled = data * 2
                done = stream.record_event()
            assert not done.query(), "the program waited for the GPU"
            done.synchronize()
            assert (doubled == place.ranks * (place.ranks + 1)).all()


def check_memory_is_kept_until_it_was_used(place):
    device = own(place)
    works = []
    for turn in range(50):
        torch.cuda._sleep(BUSY_CYCLES // 100)
        works.append(dist.all_reduce(torch.full((MANY,), float(turn), device=device), async_op=True))
        torch.full((MANY,), -1.0, device=device)  # takes what was freed
    for turn, work in enumerate(works):
        work.wait()
        assert (work.result()[0] == turn * place.ranks).all(), turn


def check_graphs(place):
    device = own(place)
    data, other = torch.ones(MANY, device=device), torch.empty(MANY * place.ranks, device=device)
    dist.all_reduce(data)
    data.fill_(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dist.all_reduce(data)
        work = dist.all_gather_into_tensor(other, data, async_op=True)
        work.wait()
        data *= 0.5
    for turn in range(5):
        graph.replay()
        torch.cuda.synchronize()
        want = (place.ranks / 2) ** (turn + 1)
        assert (data == want).all()
        assert (other == 2 * want).all()


def check_several_groups_at_once(place):
    device = own(place)
    groups = [dist.new_group() for _ in range(3)]
    tensors = [torch.ones(MANY, device=device) for _ in groups]
    for _ in range(10):
        works = [dist.all_reduce(one, group=group, async_op=True) for one, group in zip(tensors, groups, strict=True)]
        for work in works:
            work.wait()
        for one in tensors:
            one *= 1 / place.ranks
    assert all((one == 1).all() for one in tensors)
    alone = dist.new_group([0])
    if place.rank == 0:
        dist.all_reduce(tensors[0], group=alone)
    for group in groups:
        dist.destroy_process_group(group)


def train(model, optimizer, rank, ranks, device):
    for step in range(4):
        torch.manual_seed(step)
        x, y = torch.randn(4 * ranks, 32, device=device), torch.randint(4, (4 * ranks,), device=device)
        mine = slice(4 * rank, 4 * rank + 4)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[mine]), y[mine]).backward()
        optimizer.step()


def check_training(place):
    device = own(place)
    torch.manual_seed(0)
    made = [nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4)).to(device) for _ in range(3)]
    for one in made[1:]:
        one.load_state_dict(made[0].state_dict())
    alone, ddp, sharded = made
    reference = torch.optim.SGD(alone.parameters(), 0.1)
    for step in range(4):
        torch.manual_seed(step)
        x = torch.randn(4 * place.ranks, 32, device=device)
        y = torch.randint(4, (4 * place.ranks,), device=device)
        reference.zero_grad()
        nn.functional.cross_entropy(alone(x), y).backward()
        reference.step()
    parallel = DistributedDataParallel(ddp, device_ids=[place.rank])
    train(parallel, torch.optim.SGD(parallel.parameters(), 0.1), place.rank, place.ranks, device)
    mesh = dist.device_mesh.init_device_mesh("cuda", (place.ranks,))
    for one in (sharded[0], sharded[2], sharded):
        fully_shard(one, mesh=mesh)
    train(sharded, torch.optim.SGD(sharded.parameters(), 0.1), place.rank, place.ranks, device)
    for want, one, part in zip(alone.parameters(), ddp.parameters(), sharded.parameters(), strict=True):
        torch.testing.assert_close(one, want, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(part.full_tensor(), want, atol=1e-5, rtol=1e-4)
