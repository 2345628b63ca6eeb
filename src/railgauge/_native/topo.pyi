"""searches of channels"""

from collections.abc import Sequence, Set


class Wiring:
    """
    What a search of channels goes over; railgauge.topo.channels.wiring makes it.
    """

    def __init__(self, *, links: Sequence[tuple[float, bool]], gpus: Sequence[tuple[int, int, int, Sequence[int]]], nets: Sequence[tuple[int, int, float, float, int, Sequence[int]]], steps: Sequence[tuple[int, float, bool, Sequence[tuple[int, int, int]]]], leaves: bool, switched: bool, several_hosts: bool, most_nets: int, amd: bool, least_sm: int, cards: int, most_gb_per_s: float, card_gb_per_s: float) -> None: ...

    @property
    def switched(self) -> bool: ...

class Packed:
    """A set of channels, all of one speed."""

    @property
    def gb_per_s(self) -> float:
        """Of each channel."""

    @property
    def channels(self) -> list[tuple[list[int], int, int]]: ...

class BestChannels:
    """The channels that carry the most, and the proof of how much any could."""

    @property
    def by_count(self) -> dict[int, Packed]: ...

    @property
    def crossed(self) -> bool: ...

    @property
    def bound(self) -> float: ...

    @property
    def weights(self) -> list[tuple[int, float]]: ...

def best_channels(*, wiring: Wiring, pattern: int, most_channels: int, top_gb_per_s: float, cross_nic: int, wanted: Set[int], others: Sequence[Sequence[tuple[Sequence[int], int, int]]]) -> BestChannels: ...

def nccl_speeds(wiring: Wiring, leaves: bool) -> list[float]:
    """The GB/s of a channel that NCCL tries, falling."""

def channel_load(wiring: Wiring, pattern: int, channels: Sequence[tuple[Sequence[int], int, int]], inside: float, outside: float) -> float: ...

def speed_inside(wiring: Wiring, pattern: int, channels: Sequence[tuple[Sequence[int], int, int]], outside: float) -> float: ...

class NcclGraph:
    """
    Channels that NCCL would choose, all of one speed; GPUs and NICs by number.
    """

    @property
    def pattern(self) -> int: ...

    @property
    def cross_nic(self) -> int: ...

    @property
    def same_channels(self) -> bool: ...

    @property
    def type_intra(self) -> int: ...

    @property
    def type_inter(self) -> int: ...

    @property
    def intra(self) -> float: ...

    @property
    def inter(self) -> float: ...

    @property
    def latency_us(self) -> float: ...

    @property
    def channels(self) -> int: ...

    @property
    def order(self) -> list[int]: ...

    @property
    def nets(self) -> list[list[int]]: ...

def nccl_ring(wiring: Wiring, most_channels: int, cross_nic: int) -> NcclGraph: ...

def nccl_tree(wiring: Wiring, channels: int, cross_nic: int) -> NcclGraph: ...
