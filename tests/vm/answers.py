# SPDX-License-Identifier: Apache-2.0
"""What a guest's commands answered, as kept in its folder."""

from dataclasses import dataclass
from pathlib import Path

from tests.vm.lab.board import Board


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The folder that was a guest's /run/io, and what the guest was built of."""

    board: Board
    folder: Path

    def out(self, name: str, status: int = 0) -> str:
        """Standard output of a command that has to have ended with a status."""
        assert self.status(name) == status, self.err(name)
        return (self.folder / f"{name}.out").read_text()

    def err(self, name: str) -> str:
        return (self.folder / f"{name}.err").read_text()

    def status(self, name: str) -> int:
        return int((self.folder / f"{name}.status").read_text())
