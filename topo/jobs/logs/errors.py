# SPDX-License-Identifier: Apache-2.0
"""The errors in a log as findings: causes first, what follows from them below, and how the log ends."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from railgauge.topo.findings.card import FAIL, INFO, Pattern
from railgauge.topo.findings.cards.calls import (
    CUDA_FAILURE,
    CUDA_START_FAILED,
    GPU_MEMORY_FULL,
    SOCKET_FAILED,
)
from railgauge.topo.findings.cards.comparison import NODES_DIFFER
from railgauge.topo.findings.cards.gdr import PEERMEM_MISSING
from railgauge.topo.findings.cards.gpus import DRIVER_MISMATCH, GPU_LOST, P2P_UNSUPPORTED
from railgauge.topo.findings.cards.health import GPU_RECOVERY_NEEDED
from railgauge.topo.findings.cards.jobs import HOST_MEMORY_FULL, HOST_UNRESOLVED, PORT_IN_USE, RANKS_MISSING, SHM_DENIED
from railgauge.topo.findings.cards.kernel import (
    GPU_DRIVER_REPORTS,
    HOST_STUCK,
    PCIE_ERROR_REPORTED,
)
from railgauge.topo.findings.cards.launch import LAUNCH_FAILED
from railgauge.topo.findings.cards.logs import COLLECTIVE_TIMEOUT, JOB_FAILED, NCCL_ABORTING, OTHER_WARNING, PEER_LOST
from railgauge.topo.findings.cards.network import (
    HOST_ID_COLLISION,
    PORTS_BLOCKED,
    RAIL_UNREACHABLE,
    SOCKET_IFNAME_NOMATCH,
    SOCKET_IFNAME_VIRTUAL,
)
from railgauge.topo.findings.cards.parts import (
    INVALID_USAGE,
    NIC_DRIVER_FAILS,
    RDMA_CALL_FAILED,
    SYSTEM_CALL_FAILED,
    TOPOLOGY_UNUSABLE,
)
from railgauge.topo.findings.cards.plugins import (
    EFA_PROVIDER_MISSING,
    GIN_FAILED,
    PLUGIN_FAILED,
    TRANSFER_FAILED,
    UCX_FAILED,
)
from railgauge.topo.findings.cards.process import MEMLOCK_LOW, NOFILE_LOW, NUMA_SYSCALLS_BLOCKED, SHM_TOO_SMALL
from railgauge.topo.findings.cards.rdma import VERBS_DEVICE_MISSING, VERBS_PROVIDER_MISSING
from railgauge.topo.findings.cards.rdma_ports import GID_INDEX_INVALID, GID_TABLE_HOLES, IB_PORT_DOWN
from railgauge.topo.findings.cards.storage import STORAGE_STALLS
from railgauge.topo.findings.cards.topology_file import TOPO_FILE_STALE
from railgauge.topo.findings.finding import ORDER, Finding, Level
from railgauge.topo.jobs.logs.catalogue import OF_A_FAULT, Entry, entry_of
from railgauge.topo.jobs.logs.ending import RETRIES, RETURNED
from railgauge.topo.jobs.logs.error_words import OWN_ERROR, Cause, consequence, finding, first_ended, of_end, stated
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.order import in_time
from railgauge.topo.jobs.logs.sighting import Sighting
from railgauge.topo.jobs.logs.statement import OF_PEERS, PLAIN, weight
from railgauge.topo.jobs.logs.words import named

OF_GPU = (CUDA_FAILURE.id, CUDA_START_FAILED.id)
"""What CUDA reports of a GPU that its driver reports as faulty."""
OF_FAULTY = (*OF_GPU, GPU_LOST.id, GPU_DRIVER_REPORTS.id, HOST_STUCK.id)
"""What follows from Xids."""
CAUSES: Mapping[str, tuple[str, ...]] = {
    VERBS_PROVIDER_MISSING.id: (EFA_PROVIDER_MISSING.id,),
    PLUGIN_FAILED.id: (EFA_PROVIDER_MISSING.id, RDMA_CALL_FAILED.id),
    RAIL_UNREACHABLE.id: (IB_PORT_DOWN.id, GID_INDEX_INVALID.id),
    PORTS_BLOCKED.id: (PORT_IN_USE.id, HOST_UNRESOLVED.id, SOCKET_IFNAME_VIRTUAL.id),
    GPU_LOST.id: (GPU_RECOVERY_NEEDED.id,),
    GPU_DRIVER_REPORTS.id: (GPU_RECOVERY_NEEDED.id, GPU_LOST.id, CUDA_FAILURE.id),
    HOST_STUCK.id: (STORAGE_STALLS.id, NIC_DRIVER_FAILS.id, PCIE_ERROR_REPORTED.id, GPU_DRIVER_REPORTS.id),
    GIN_FAILED.id: (
        GID_INDEX_INVALID.id,
        RAIL_UNREACHABLE.id,
        IB_PORT_DOWN.id,
        MEMLOCK_LOW.id,
        RDMA_CALL_FAILED.id,
        PEERMEM_MISSING.id,
    ),
    UCX_FAILED.id: (
        SHM_DENIED.id,
        SHM_TOO_SMALL.id,
        MEMLOCK_LOW.id,
        CUDA_FAILURE.id,
        RAIL_UNREACHABLE.id,
        RDMA_CALL_FAILED.id,
    ),
    TRANSFER_FAILED.id: (
        RDMA_CALL_FAILED.id,
        RAIL_UNREACHABLE.id,
        GID_INDEX_INVALID.id,
        PEERMEM_MISSING.id,
        MEMLOCK_LOW.id,
        CUDA_FAILURE.id,
        UCX_FAILED.id,
    ),
    **dict.fromkeys(OF_GPU, (GPU_RECOVERY_NEEDED.id, GPU_LOST.id, DRIVER_MISMATCH.id)),
    RANKS_MISSING.id: (PORT_IN_USE.id, HOST_UNRESOLVED.id, SOCKET_IFNAME_VIRTUAL.id, PORTS_BLOCKED.id),
}
"""What follows from others alone, the likeliest first."""
IN_DETAIL: Mapping[str, tuple[str, ...]] = {
    RDMA_CALL_FAILED.id: (
        RAIL_UNREACHABLE.id,
        GID_INDEX_INVALID.id,
        MEMLOCK_LOW.id,
        PEERMEM_MISSING.id,
        VERBS_DEVICE_MISSING.id,
        IB_PORT_DOWN.id,
    ),
    SOCKET_FAILED.id: (PORTS_BLOCKED.id, SOCKET_IFNAME_VIRTUAL.id, SOCKET_IFNAME_NOMATCH.id, NOFILE_LOW.id),
    SYSTEM_CALL_FAILED.id: (SHM_TOO_SMALL.id, NOFILE_LOW.id, HOST_MEMORY_FULL.id),
}
"""A part of NCCL that reports an error, and the faults of which it reports more where it knows them."""
WITHIN_HOST = (CUDA_FAILURE.id, P2P_UNSUPPORTED.id, SHM_TOO_SMALL.id, NUMA_SYSCALLS_BLOCKED.id, SYSTEM_CALL_FAILED.id)
"""What ranks report that share no memory, being on several hosts of one name."""
NOT_IN_SYS = Entry(
    TOPOLOGY_UNUSABLE,
    Pattern(
        "",
        FAIL,
        "/sys does not show a PCI device that CUDA reports: WSL, and some containers and VMs, hide it, and newer "
        "releases of NCCL do without; or NCCL_TOPO_FILE names a file of another machine",
    ),
)
NOT_IN_SYS_INFO = NOT_IN_SYS._replace(pattern=NOT_IN_SYS.pattern._replace(level=INFO))
"""Where NCCL says so at INFO and goes on."""
ALLOCATOR = "[Rem Allocator]"
FOREIGN_REQUEST = Entry(
    SOCKET_FAILED,
    Pattern(
        "",
        FAIL,
        "NCCL's allocator gets requests that no rank makes: a scanner or a probe connects to its port, and what it "
        "sends is taken for a size",
    ),
)
"""What a request of its thread that fails comes from, unless memory was out before."""
OF_PORTS = (RAIL_UNREACHABLE, GID_INDEX_INVALID, GID_TABLE_HOLES, IB_PORT_DOWN)
"""What only a program that has opened an RDMA device reports."""
IN_TURN = ((CUDA_START_FAILED, CUDA_FAILURE, ""), (PEER_LOST, NODES_DIFFER, "ootstrap"))
"""What follows from the first where it comes after it: CUDA has not started, or the ranks that are left disagree."""
CONNECTING = frozenset({PORTS_BLOCKED.id, RANKS_MISSING.id, SOCKET_IFNAME_VIRTUAL.id})
"""Errors of ranks that do not reach each other."""
CONNECTS = re.compile(r"(?i)connect|rendezvous|gloo|socket|\bstore\b|init_process_group")


def errors(log: Log, found: Sequence[Finding] = ()) -> Iterator[Finding]:
    """The errors in the order of the log, each with the one that it follows from.

    found: causes of what CUDA reports that other lines show, the worst first: GPUs that the driver reports as faulty,
    hosts of one name.
    """
    ends = log.ends
    sightings = _of_allocator([_in_context(log, seen) for seen in log.sightings.values()])
    turns = _in_turn(sightings)
    sightings = _following(sightings, [*turns])
    in_turn = {id(sightings[at]): before for at, before in turns.items()}
    causes = _causes(log, sightings)
    sightings = [seen for seen in sightings if not _is_retry(seen) or any(seen is one for one in causes)]
    known = {seen.entry.card.id: _as_cause(seen) for seen in reversed(causes)}
    detail = {seen.entry.card.id: _as_cause(seen) for seen in reversed(causes) if _in_detail(seen)}
    own_faults = [seen for seen in causes if not _own_cause(seen, known, detail, None)]
    candidates, order = in_time(_candidates(own_faults))
    first = next(iter(candidates), None)
    worst = next(iter(found), None)
    faulty = Cause(worst.id, worst.subject) if worst else None
    cause = _as_cause(first) if first and (worst is None or worst.level is not Level.FAIL) else faulty
    own = next(iter(log.exceptions), "") if cause is None and sightings and ends else ""
    if cause is None and not own and (killed := next(filter(_is_killed, sightings), None)):
        first, candidates, cause = killed, [killed], _as_cause(killed)
    if own:
        cause = Cause(JOB_FAILED.id, OWN_ERROR)
        yield JOB_FAILED.finding(
            Level.FAIL, OWN_ERROR, f"a rank ends by an error of its own: {own}", evidence={"line": own}
        )
    elif cause is None and (plain := next((text for text in ends if _is_plain(text, sightings)), "")):
        cause = Cause(JOB_FAILED.id, OWN_ERROR)
        yield stated(plain, ends[plain])
    clearest = min(filter(_tells, sightings), key=lambda seen: seen.entry.pattern.general, default=None)
    for seen in _in_order(sightings, candidates):
        if because := in_turn.get(id(seen)) or _own_cause(seen, known, detail, faulty):
            yield consequence(seen, because)
        elif seen.entry.pattern.follows and seen is not first:
            ended = first_ended(log.outputs.first_ended) if seen.entry.card is JOB_FAILED else ""
            yield consequence(seen, cause or _of_clearest(seen, clearest), ended)
        else:
            after = [one for one in sightings if _own_cause(one, known, detail, None) == _as_cause(seen)]
            level = _worst(_level(log, seen, causes), after)
            more = _meeting(log) if seen.entry.card is PORTS_BLOCKED else ""
            if seen is first:
                more, level = more + order, _worst(level, [one for one in sightings if one.entry.pattern.follows])
            yield finding(seen, level, more)
    if cause is None and not any(map(_tells, sightings)):
        failing = any(seen.entry.pattern.level is Level.FAIL for seen in sightings)
        seen_already = {seen.entry for seen in sightings}
        new = {text: package for text, package in ends.items() if entry_of(text, "WARN") not in seen_already}
        yield from (of_end(*end) for end in new.items() if not (failing and _says_no_more(end[0])))


def _in_context(log: Log, seen: Sighting) -> Sighting:
    """A device that /sys does not show is the fault of a topology file only where there is one."""
    if seen.entry.card is TOPO_FILE_STALE and not (log.topology_files or "NCCL_TOPO_FILE" in log.settings):
        went_on = seen.entry.pattern.level is not Level.FAIL
        return replace(seen, entry=NOT_IN_SYS_INFO if went_on else NOT_IN_SYS)
    return seen


def _of_allocator(sightings: list[Sighting]) -> list[Sighting]:
    """With a failed request of NCCL's allocator as the cause of what comes after it: no memory for such a size."""
    asked = next((at for at, seen in enumerate(sightings) if ALLOCATOR in seen.text), None)
    full = [at for at, seen in enumerate(sightings) if seen.entry.card is GPU_MEMORY_FULL]
    if asked is None or (full and full[0] < asked):
        return sightings
    sightings[asked] = replace(sightings[asked], entry=FOREIGN_REQUEST)
    return _following(sightings, full)


def _in_turn(sightings: list[Sighting]) -> dict[int, Cause]:
    """What errors follow from that came before them, by their places."""
    found = {}
    for first, then, words in IN_TURN:
        begin = next((at for at, seen in enumerate(sightings) if seen.entry.card is first), len(sightings))
        for at, seen in enumerate(sightings[begin:], begin):
            if seen.entry.card is then and words in seen.text:
                found[at] = _as_cause(sightings[begin])
    return found


def _following(sightings: list[Sighting], places: Sequence[int]) -> list[Sighting]:
    """With some of them as what follows from others."""
    for at in places:
        card, pattern = sightings[at].entry
        sightings[at] = replace(sightings[at], entry=Entry(card, pattern._replace(follows=True)))
    return sightings


def _causes(log: Log, sightings: Sequence[Sighting]) -> list[Sighting]:
    """What may stand for itself. A suspect does where ranks fail to connect, and nothing else is known to fail."""
    sure = [seen.entry for seen in sightings if not seen.entry.pattern.suspect]
    failed = {card.id for card, pattern in sure if pattern.level is Level.FAIL and not pattern.follows}
    connect = {card.id for card, _ in sure} & CONNECTING or any(CONNECTS.search(text) for text in log.ends)
    began = log.channels or log.connections.kept or log.exceptions or not log.messages
    ended = not began and any(card is JOB_FAILED for card, _ in sure)
    suspicious = (connect or ended) and failed <= CONNECTING
    return [
        seen for seen in sightings if not seen.entry.pattern.follows and (suspicious or not seen.entry.pattern.suspect)
    ]


def _in_order(sightings: Sequence[Sighting], first: Sequence[Sighting]) -> list[Sighting]:
    """All errors: some first, a rank that ended after what it says itself, last what is said of any failure."""
    ahead = {*map(id, first)}
    rest = [seen for seen in sightings if id(seen) not in ahead]
    own = any(seen.entry.card in (COLLECTIVE_TIMEOUT, INVALID_USAGE) for seen in rest)
    return [*first, *sorted(rest, key=lambda seen: (not _tells_more(seen), own and _is_told_of_another(seen)))]


def _is_told_of_another(seen: Sighting) -> bool:
    """Whether it is what a program says of another rank that ended, in words of its own."""
    return seen.entry.card is PEER_LOST and bool(seen.entry.pattern.general)


def _own_cause(
    seen: Sighting, known: Mapping[str, Cause], detail: Mapping[str, Cause], faulty: Cause | None
) -> Cause | None:
    """What an error of its kind follows from, if the log has it. detail: by card, errors of which more is known:
    those in general words follow from them; faulty: a GPU or a host, as other lines show.
    """
    card = seen.entry.card.id
    general = seen.entry.pattern.general > OF_A_FAULT
    keys = CAUSES.get(card, ()) + (IN_DETAIL.get(card, ()) if general else ())
    if general and card in detail:
        return detail[card]
    if seen.entry.card is VERBS_DEVICE_MISSING and seen.entry.pattern.follows:
        return known.get(VERBS_PROVIDER_MISSING.id)
    follow = WITHIN_HOST if faulty and faulty.id == HOST_ID_COLLISION.id else OF_FAULTY
    return next((known[key] for key in keys if key in known), faulty if card in follow else None)


def _level(log: Log, seen: Sighting, causes: Sequence[Sighting]) -> Level:
    """INFO for a suspect that is not the cause, and for drivers that libibverbs lacks and nobody needs."""
    innocent = seen.entry.pattern.suspect and not any(seen is cause for cause in causes)
    unneeded = seen.entry.card is VERBS_PROVIDER_MISSING and (log.on_one_node or _has_rdma(log, seen))
    return Level.INFO if innocent or unneeded else seen.entry.pattern.level


def _is_retry(seen: Sighting) -> bool:
    """Whether NCCL tried again: no finding, unless it is the cause."""
    return seen.entry.pattern.suspect and bool(RETRIES.search(seen.text))


def _is_killed(seen: Sighting) -> bool:
    """Whether a rank was killed: of what follows from others as a rule, that alone says why its peers lost it."""
    return seen.entry.card is HOST_MEMORY_FULL and seen.entry.pattern.follows


def _worst(level: Level, after: Sequence[Sighting]) -> Level:
    """The level of a cause: that of what follows from it, if this is worse."""
    return max((level, *(seen.entry.pattern.level for seen in after)), key=ORDER.index)


def _meeting(log: Log) -> str:
    """By which interfaces hosts meet, where they have others as well."""
    ways = dict.fromkeys(way.partition(" ")[0] for way in log.bootstraps.values())
    names = (one.partition(":")[0] for kinds in log.devices.values() for one in kinds.get("Socket", ()))
    others = [name for name in dict.fromkeys((*names, *log.interfaces)) if name not in ways]
    if not ways or not others:
        return ""
    return f"; ranks meet by {', '.join(ways)}, and there is {', '.join(others[:4])}: NCCL_SOCKET_IFNAME chooses"


def _in_detail(seen: Sighting) -> bool:
    return seen.entry.pattern.general <= OF_A_FAULT and seen.entry.pattern.level is Level.FAIL


def _of_clearest(seen: Sighting, clearest: Sighting | None) -> Cause | None:
    """Where no cause is known, the error that says the most: the same in other words and what programs say follow."""
    of_another = clearest is not None and clearest.entry.card is PEER_LOST and seen.entry.card is NCCL_ABORTING
    own = _tells_more(seen) and clearest is not None and seen.entry.card is not clearest.entry.card
    if clearest is None or seen is clearest or (own and not of_another):
        return None
    return _as_cause(clearest)


def _as_cause(seen: Sighting) -> Cause:
    return Cause(seen.entry.card.id, named(seen.hosts))


def _has_rdma(log: Log, seen: Sighting) -> bool:
    """Whether NCCL has RDMA devices, or an error is of one: the drivers that libibverbs lacks are those of others."""
    lacks_a_driver = "libibverbs: Warning" in seen.text
    named_ones = any("IB" in kinds for kinds in log.devices.values()) or any(
        "IB" in one for one in log.networks.values()
    )
    return named_ones or (lacks_a_driver and any(one.entry.card in OF_PORTS for one in log.sightings.values()))


def _candidates(causes: list[Sighting]) -> list[Sighting]:
    """What others may follow from: failures, or else warnings in words that nobody knows."""
    failures = [seen for seen in causes if seen.entry.pattern.level is Level.FAIL]
    return failures or [seen for seen in causes if seen.entry.card is OTHER_WARNING]


def _tells(seen: Sighting) -> bool:
    """Whether an error that follows from another tells more than that something failed."""
    return seen.entry.pattern.follows and _tells_more(seen)


def _tells_more(seen: Sighting) -> bool:
    """Whether it is not what a program says of any failure."""
    return seen.entry.card is not JOB_FAILED or not seen.entry.pattern.general


def _is_plain(text: str, sightings: Sequence[Sighting]) -> bool:
    """Whether the end of a log states plainly, in words that no card has, what other errors may follow from."""
    entry = entry_of(text, "WARN")
    known = entry is not None and entry.pattern.general <= OF_A_FAULT
    waits = OF_PEERS.search(text) and not any(seen.entry.card is LAUNCH_FAILED for seen in sightings)
    return bool(sightings) and weight(text) >= PLAIN and not (known or waits)


def _says_no_more(text: str) -> bool:
    """Whether the end of a log is what its other errors are: a call of NCCL, or of a program, that failed."""
    entry = entry_of(text, "WARN")
    return bool(RETURNED.search(text)) or not weight(text) or (entry is not None and entry.card is JOB_FAILED)
