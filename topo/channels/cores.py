# SPDX-License-Identifier: Apache-2.0
"""The cores of a NUMA node, each with its hardware threads, and their even shares."""

from collections.abc import Mapping, Sequence

from railgauge.topo.values.spans import runs

Core = tuple[int, ...]


def cores_of(cpus: Sequence[int], siblings: Mapping[int, Core]) -> tuple[Core, ...]:
    """The CPUs of a NUMA node (ascending) by core, in order of the first thread.

    Without known siblings, runs of equal length, as in 0-55,112-167, are taken for the first and second threads of the
    same cores, which is how Linux numbers them on x86.
    """
    if all(cpu in siblings for cpu in cpus):
        return tuple(sorted({siblings[cpu] for cpu in cpus}))
    threads = runs(cpus)
    if len({len(run) for run in threads}) == 1:
        return tuple(zip(*threads, strict=True))
    return tuple((cpu,) for cpu in cpus)


def share(cores: Sequence[Core], part: int, parts: int) -> tuple[Core, ...]:
    """The cores of one of several equal parts; all of them if there are fewer cores than parts."""
    if len(cores) < parts:
        return tuple(cores)
    return tuple(cores[part * len(cores) // parts : (part + 1) * len(cores) // parts])


def logical_numbers(nodes: Sequence[tuple[Core, ...]]) -> dict[Core, int]:
    """Number each core as hwloc does (logically), as Open MPI's rankfiles do: by NUMA node, then by first thread.

    If some CPUs are in no NUMA node, a core's number is its first thread's, which is the same if Linux numbers the
    first threads of all cores before the second ones.
    """
    ordered = [core for cores in sorted(nodes) for core in cores]
    threads = {thread for core in ordered for thread in core}
    whole = threads == set(range(len(threads)))
    return {core: number if whole else core[0] for number, core in enumerate(ordered)}
