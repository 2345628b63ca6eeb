# SPDX-License-Identifier: Apache-2.0
"""Errors as users of torch.distributed know them: ValueError for an invalid call, DistBackendError for the rest."""

import contextlib
from collections.abc import Iterator

from torch.distributed import DistBackendError

from railgauge.topo.errors import Error, UsageError


@contextlib.contextmanager
def raised_as_torch(where: str) -> Iterator[None]:
    """Raise our errors as torch's, with the rank and the operation in front; the message itself names the peer."""
    try:
        yield
    except UsageError as error:
        raise ValueError(f"railgauge: {where}: {error}") from error
    except Error as error:
        raise DistBackendError(f"railgauge: {where}: {error}") from error
