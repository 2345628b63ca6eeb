# SPDX-License-Identifier: Apache-2.0
"""Training on several ranks, against the same training in one process."""

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed import _functional_collectives as functional
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

IN_ONE_GROUP = True
WIDTH, STEPS, BATCH = 32, 3, 4


def models():
    """Two equal ones: for the ranks together, and for one process."""
    torch.manual_seed(0)
    made = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4)) for _ in range(2)]
    made[1].load_state_dict(made[0].state_dict())
    return made


def sgd(parameters):
    return torch.optim.SGD(parameters, 0.1, momentum=0.9)


def train(model, optimizer, reference, place, *, sharded_batch=True):
    """A few steps of both."""
    alone = sgd(reference.parameters())
    for step in range(STEPS):
        torch.manual_seed(step)
        x, y = torch.randn(BATCH * place.ranks, WIDTH), torch.randint(0, 4, (BATCH * place.ranks,))
        mine = slice(BATCH * place.rank, BATCH * (place.rank + 1)) if sharded_batch else slice(None)
        for one, by, rows in ((model, optimizer, mine), (reference, alone, slice(None))):
            by.zero_grad()
            nn.functional.cross_entropy(one(x[rows]), y[rows]).backward()
            by.step()


def whole(parameter):
    return parameter.full_tensor() if isinstance(parameter, DTensor) else parameter


def agree(model, reference):
    for got, want in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(whole(got.detach()), want.detach(), atol=1e-6, rtol=1e-5)


def check_ddp(place):
    model, reference = models()
    parallel = DistributedDataParallel(model)
    train(parallel, sgd(parallel.parameters()), reference, place)
    agree(model, reference)


def check_ddp_with_a_hook_that_compresses(place):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model, reference = models()
    parallel = DistributedDataParallel(model)
    parallel.register_comm_hook(None, default_hooks.fp16_compress_hook)
    train(parallel, sgd(parallel.parameters()), reference, place)
    for got, want in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(got.detach(), want.detach(), atol=2e-2, rtol=2e-2)


def check_zero(place):
    model, reference = models()
    parallel = DistributedDataParallel(model)
    optimizer = ZeroRedundancyOptimizer(parallel.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
    train(parallel, optimizer, reference, place)
    agree(model, reference)


def check_fsdp2_and_a_checkpoint(place):
    model, reference = models()
    mesh = dist.device_mesh.init_device_mesh("cpu", (place.ranks,))
    for one in (model[0], model[2], model):
        fully_shard(one, mesh=mesh)
    train(model, sgd(model.parameters()), reference, place)
    agree(model, reference)
    where = str(place.folder / "checkpoint")
    checkpoint.save({"model": model.state_dict()}, checkpoint_id=where)
    with torch.no_grad():
        for one in model.parameters():
            one.zero_()
    state = model.state_dict()
    checkpoint.load({"model": state}, checkpoint_id=where)
    agree(model, reference)


def check_fsdp1(place):
    model, reference = models()
    sharded = FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"))
    train(sharded, sgd(sharded.parameters()), reference, place)
    with FullyShardedDataParallel.summon_full_params(sharded):
        agree(sharded, reference)


def check_a_pipeline(place):
    """A layer on each rank; batches go through it in parts, with sends and receives between the ranks."""
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(place.ranks)]
    x, y = torch.randn(8, WIDTH), torch.randn(8, WIDTH)
    nn.functional.mse_loss(nn.Sequential(*layers)(x), y).backward()
    want = [parameter.grad.clone() for parameter in layers[place.rank].parameters()]
    layers[place.rank].zero_grad()
    stage = PipelineStage(layers[place.rank], place.rank, place.ranks, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=nn.functional.mse_loss)
    first, last = place.rank == 0, place.rank == place.ranks - 1
    schedule.step(*([x] if first else []), **({"target": y} if last else {}))
    for parameter, grad in zip(layers[place.rank].parameters(), want, strict=True):
        torch.testing.assert_close(parameter.grad, grad)


def check_tensor_parallel(place):
    model, reference = models()
    mesh = dist.device_mesh.init_device_mesh("cpu", (place.ranks,))
    model[2] = nn.Linear(WIDTH, 4)
    model[2].load_state_dict(reference[2].state_dict())
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    train(model, sgd(model.parameters()), reference, place, sharded_batch=False)
    agree(model, reference)


def check_dtensor(place):
    mesh = dist.device_mesh.init_device_mesh("cpu", (place.ranks,))
    want = torch.arange(8.0 * place.ranks).reshape(2 * place.ranks, 4)
    sharded = distribute_tensor(want, mesh, [Shard(0)])
    assert torch.equal(sharded.redistribute(placements=[Shard(1)]).full_tensor(), want)
    assert torch.equal(sharded.redistribute(placements=[Replicate()]).to_local(), want)


def check_ddp_with_fewer_steps_on_one_rank(place):
    """DDP waits in C++ for a work that its own Python code has dropped."""
    parallel = DistributedDataParallel(nn.Linear(WIDTH, 1, bias=False))
    with parallel.join(divide_by_initial_world_size=False):
        for _ in range(1 + place.rank):
            parallel.zero_grad()
            parallel(torch.full((1, WIDTH), 3.0)).sum().backward()
            assert parallel.module.weight.grad.tolist() == [[3.0] * WIDTH]


def check_compiled_ddp(place):
    model, reference = models()
    parallel = torch.compile(DistributedDataParallel(model), backend="eager")
    train(parallel, sgd(parallel.parameters()), reference, place)
    agree(model, reference)


def check_compile(place):
    def step(t):
        return functional.all_reduce(t, "sum", dist.group.WORLD) + 1

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    assert compiled(torch.ones(2)).tolist() == [place.ranks + 1] * 2
