# SPDX-License-Identifier: Apache-2.0
"""Link speeds by name: Gb/s of a lane, as the kernel's `rate` counts them (400 Gb/sec is 4X NDR)."""

GBPS_OF_LANE = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
NAME_OF_GBPS = {
    "2.5": "SDR",
    "5.0": "DDR",
    "10.0": "QDR",
    "10.3125": "FDR10",
    "14.0625": "FDR",
    "25.78125": "EDR",
    "53.125": "HDR",
    "106.25": "NDR",
    "212.5": "XDR",
}
"""The signalling rate of a lane in Gb/s, as iblinkinfo and OpenSM print it."""
SPEEDS = tuple(GBPS_OF_LANE)
"""Slowest first."""


def gb_per_s(width: int | None, speed: str) -> float | None:
    """GB/s of a link of so many lanes; None if the width or the speed is unknown."""
    lane = GBPS_OF_LANE.get(speed)
    return width * lane / 8 if width and lane else None
