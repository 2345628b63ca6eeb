# SPDX-License-Identifier: Apache-2.0
"""A picture with channels in it: each wire coloured by how full it is, and the channels in words below."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from railgauge.topo.channels.load import LinkLoad
from railgauge.topo.nccl.graph.ends import named
from railgauge.topo.render.picture.parts import Picture, PicturePart, PictureWire

Ends = tuple[str, str]


def with_loads(
    picture: Picture,
    loads: Sequence[LinkLoad],
    channels: Mapping[Ends, Sequence[int]],
    remarks: Sequence[str],
    names: Mapping[str, str],
) -> Picture:
    """The picture with the loads of a graph and the lines that describe it.

    `channels`: those that use a link, by its ends. `names`: of devices, by NCCL's id.
    """
    found = {(load.link.source, load.link.target): load for load in loads}

    def loaded(wire: PictureWire) -> PictureWire:
        both = [found.get(ends) for ends in (wire.ends, wire.ends[::-1])]
        notes = [named(_note(load), names) for load in both if load]
        share = max((load.real_share for load in both if load), default=0.0)
        used = tuple(sorted({*channels.get(wire.ends, ()), *channels.get(wire.ends[::-1], ())}))
        return replace(wire, share=share, channels=used, note="\n".join([wire.note, *notes] if wire.note else notes))

    def part(one: PicturePart) -> PicturePart:
        return replace(one, up=loaded(one.up) if one.up else None, below=tuple(map(part, one.below)))

    return replace(
        picture,
        cpus=tuple(map(part, picture.cpus)),
        wires=tuple(map(loaded, picture.wires)),
        between_cpus=tuple(map(loaded, picture.between_cpus)),
        remarks=tuple(remarks),
    )


def _note(load: LinkLoad) -> str:
    link = load.link
    now = " now" if link.now else ""
    room = f"{load.gb_per_s:.4g} of {link.real_gb_per_s:.4g} GB/s{now}, {load.real_share:.0%}"
    return f"{link.source} -> {link.target}: {room}"
