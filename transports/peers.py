# SPDX-License-Identifier: Apache-2.0
"""All ranks' facts, gathered and checked for conflicts: two ranks on one GPU, other versions, other settings."""

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from railgauge.topo.errors import MismatchError, UsageError
from railgauge.topo.nccl.settings.agreement import BETTER_ALIKE, ON_ALL_RANKS, ON_ONE_HOST, WHAT_THEY_DO
from railgauge.topo.values.busid import to_number
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.peer import Peer


def exchange(bootstrap: Bootstrap, own: Peer) -> list[Peer]:
    """Send this rank's facts to all ranks, and return all of them in rank order; rank 0 prints the warnings.

    Raises:
        UsageError, MismatchError: as `check`. RunError: a rank was lost meanwhile.
    """
    peers: list[Peer] = bootstrap.all_gather(own, Peer.received)
    for rank, peer in enumerate(peers):
        if peer.rank != rank:
            raise bootstrap.junk(rank)
    check(peers)
    if own.rank == 0:
        for line in warnings(peers):
            print(f"railgauge: {line}", file=sys.stderr)
    return peers


def check(peers: list[Peer]) -> None:
    """Look for what keeps these ranks from working together; all ranks get the same answer.

    Raises:
        UsageError: two ranks are on one GPU (NCCL's check in `initTransportsRank`).
        MismatchError: they run different versions, were asked to do different things, or have settings with which
            NCCL hangs.
    """
    _check_gpus(peers)
    for peer in peers:
        if (peer.bus_id is None) != (peers[0].bus_id is None):
            on = "a GPU" if peer.bus_id else "host memory"
            raise MismatchError(
                f"rank {peer.rank} on {peer.host} uses {on}, rank 0 does not: use --device cpu, or --device cuda, "
                f"which reports why a GPU is missing"
            )
    for peer in peers:
        if peer.version != peers[0].version:
            raise MismatchError(f"{_runs(peer)}, {_runs(peers[0])}: install the same version on all hosts")
    flags = dict.fromkeys((name for peer in peers for name in peer.flags), WHAT_THEY_DO)
    for problem in _differences(peers, flags, lambda peer: peer.flags):
        raise MismatchError(problem)
    for problem in _differences(peers, ON_ALL_RANKS, _settings):
        raise MismatchError(problem)
    for ranks in _by_host(peers):
        for problem in _differences(ranks, ON_ONE_HOST, _settings):
            raise MismatchError(problem)


def warnings(peers: list[Peer]) -> list[str]:
    """Settings that differ although they should be the same, a line each."""
    return list(_differences(peers, dict.fromkeys(BETTER_ALIKE, "it rarely differs on purpose"), _settings))


def _check_gpus(peers: list[Peer]) -> None:
    first: dict[tuple[str, str], Peer] = {}
    for peer in peers:
        if peer.bus_id is None:
            continue
        other = first.setdefault((peer.host_hash, peer.bus_id), peer)
        if other is not peer:
            raise UsageError(
                f"Duplicate GPU detected: rank {peer.rank} and rank {other.rank} both on bus "
                f"{to_number(peer.bus_id):x} of host {peer.host}: give each rank its own GPU (LOCAL_RANK, "
                f"CUDA_VISIBLE_DEVICES), or set NCCL_HOSTID if two hosts are taken for one"
            )


def _runs(peer: Peer) -> str:
    return f"rank {peer.rank} on {peer.host} runs railgauge {peer.version}"


def _settings(peer: Peer) -> Mapping[str, str]:
    return peer.settings


def _differences(
    peers: list[Peer], names: Mapping[str, str], told: Callable[[Peer], Mapping[str, str]]
) -> Iterator[str]:
    """For each name whose value differs between ranks: the first rank's value, and the first other one."""
    first = peers[0]
    for name, consequence in names.items():
        value = told(first).get(name)
        for other in peers:
            if told(other).get(name) != value:
                yield (
                    f"{name} differs: {_has(first, value)}, {_has(other, told(other).get(name))}: {consequence}; "
                    f"set it to the same value on all ranks"
                )
                break


def _has(peer: Peer, value: str | None) -> str:
    return f"rank {peer.rank} on {peer.host} has {'none' if value is None else repr(value)}"


def _by_host(peers: list[Peer]) -> Iterable[list[Peer]]:
    ordered = sorted(peers, key=lambda peer: peer.host_id)
    for _, group in itertools.groupby(ordered, key=lambda peer: peer.host_id):
        yield sorted(group, key=lambda peer: peer.rank)
