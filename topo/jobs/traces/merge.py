# SPDX-License-Identifier: Apache-2.0
"""The operations of all ranks as one list: each once, in an order that every rank can follow."""

from collections import Counter, defaultdict, deque
from dataclasses import replace

from railgauge.topo.jobs.traces.trace import Source, Trace, TracedGroup, TracedOperation

Key = tuple[TracedGroup, int, int]
"""Group, number, and how many of that number came before: those of a coalesced call share one."""


def merged(trace: Trace) -> list[TracedOperation]:
    """Each operation once; its time is the least of all ranks', since the others waited for a rank.

    An operation comes when all ranks that have it have done what they called before; where ranks disagree about the
    order (several streams), the first rank's decides.
    """
    queues: dict[Source, deque[Key]] = {}
    calls: dict[Key, TracedOperation] = {}
    holders: dict[Key, list[Source]] = defaultdict(list)
    for source, operations in sorted(trace.by_source.items(), key=lambda one: (isinstance(one[0], str), one[0])):
        seen: Counter[tuple[TracedGroup, int]] = Counter()
        queue = queues[source] = deque()
        for operation in operations:
            place = operation.group, operation.number
            key = (*place, seen[place])
            seen[place] += 1
            calls[key] = _together(calls[key], operation) if key in calls else operation
            holders[key].append(source)
            queue.append(key)
    return [calls[key] for key in _order(queues, holders)]


def _together(one: TracedOperation, other: TracedOperation) -> TracedOperation:
    """One operation of what two ranks have of it; the larger where sizes differ."""
    times = [us for us in (one.measured_us, other.measured_us) if us is not None]
    steps = [step for step in (one.step, other.step) if step is not None]
    larger = max(one, other, key=lambda each: each.bytes)
    return replace(larger, measured_us=min(times, default=None), step=min(steps, default=None))


def _order(queues: dict[Source, deque[Key]], holders: dict[Key, list[Source]]) -> list[Key]:
    found: list[Key] = []
    done: set[Key] = set()
    at_head: Counter[Key] = Counter()
    ready: deque[Key] = deque()

    def advance(source: Source) -> None:
        queue = queues[source]
        while queue and queue[0] in done:
            queue.popleft()
        if queue:
            at_head[queue[0]] += 1
            if at_head[queue[0]] == len(holders[queue[0]]):
                ready.append(queue[0])

    for source in queues:
        advance(source)
    waiting = deque(queues)
    while waiting:
        if not ready:
            while waiting and not queues[waiting[0]]:
                waiting.popleft()
            if not waiting:
                break
            ready.append(queues[waiting[0]][0])
        key = ready.popleft()
        if key in done:
            continue
        done.add(key)
        found.append(key)
        for source in holders[key]:
            if queues[source] and queues[source][0] == key:
                advance(source)
    return found
