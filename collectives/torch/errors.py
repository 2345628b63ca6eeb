# SPDX-License-Identifier: Apache-2.0
"""Errors as users of torch.distributed know them: ValueError for an invalid call, DistBackendError for the rest."""

from types import TracebackType

from torch.distributed import DistBackendError

from railgauge.topo.errors import Error, UsageError


class TorchErrors:
    """A block whose errors of ours become torch's, with the rank and the operation in front; the message itself names
    the peer. Not a generator, which would take a tenth of a short operation; one may be entered again and again.
    """

    __slots__ = ("where",)

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        """Nothing to do before."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, Error):
            raise self.of(error) from error

    def of(self, error: Error) -> Exception:
        """Torch's for one of ours, for a `try` of its own: that costs nothing where nothing fails."""
        known = ValueError if isinstance(error, UsageError) else DistBackendError
        return known(f"railgauge: {self.where}: {error}")
