# SPDX-License-Identifier: Apache-2.0
"""A copy of the repository, in which a fault may stand: with a virtual environment of its own, so that every process
that tests start from `sys.executable` runs the copy, over ssh too. The extension and other packages are the caller's.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from tests.mutation.mutants import Mutant, mutated

ROOT = Path(__file__).parents[2]
Given = TypeVar("Given")
Result = TypeVar("Result")
STARTER = """#!{python}
import sys
from railgauge.cli.main import main
sys.exit(main())
"""


class Tree:
    """The copy in a folder, made new."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.root = folder / "railgauge"
        self.python = self.root / ".venv" / "bin" / "python"
        self._faults = 0
        _copy_files(self.root)
        self._make_environment()

    @contextmanager
    def fault(self, mutant: Mutant) -> Iterator[None]:
        """The copy has that fault while the block runs."""
        path = self.root / mutant.path
        right = path.read_text(encoding="utf-8")
        try:
            self._write(path, mutated(right, mutant.number))
            yield
        finally:
            self._write(path, right)

    def trace(self, into: Path | None) -> None:
        """Let all its processes say which functions they enter (tests/mutation/reach.py), or no longer."""
        flag = self.root / ".venv" / "trace"
        if into:
            flag.write_text(str(into), encoding="utf-8")
        else:
            flag.unlink(missing_ok=True)

    def pytest(self, *args: str, limit_s: float) -> tuple[int | None, str]:
        """Its status and what it printed; None when it was ended since the time was over."""
        command = [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", *args]
        out = self.root.parent / "out"
        with out.open("w") as printed:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                _end(process)
        return status, out.read_text(encoding="utf-8", errors="replace")

    def _write(self, path: Path, text: str) -> None:
        """With a time of its own: compiled files are known by their source's second and size."""
        self._faults += 1
        path.write_text(text, encoding="utf-8")
        os.utime(path, (self._faults, self._faults))

    def _make_environment(self) -> None:
        import railgauge._native

        extension = Path(railgauge._native.__file__)
        source = self.root / "src" / "railgauge"
        (source / extension.name).symlink_to(extension)
        folder = self.root / ".venv"
        venv.create(folder, symlinks=True)
        site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        others = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
        lines = [str(self.root / "src"), *others, "import railgauge_trace"]
        (site / "railgauge.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
        shutil.copy(Path(__file__).with_name("trace.py"), site / "railgauge_trace.py")
        starter = folder / "bin" / "railgauge"
        starter.write_text(STARTER.format(python=self.python), encoding="utf-8")
        starter.chmod(0o755)
        shown = [self.python, "-c", "import railgauge.topo as it; print(it.__file__)"]
        found = subprocess.run(shown, capture_output=True, text=True, check=True, cwd="/").stdout.strip()
        if not Path(found).is_relative_to(source):
            raise RuntimeError(f"tests of the copy would run {found}: they need {source}")


class Trees:
    """So many copies, each at one thing at a time."""

    def __init__(self, folder: Path, count: int) -> None:
        self._pool = ThreadPoolExecutor(count)
        self._idle = SimpleQueue[Tree]()
        for tree in self._pool.map(lambda number: Tree(folder / f"tree-{number}"), range(count)):
            self._idle.put(tree)

    def map(self, task: Callable[[Tree, Given], Result], items: Iterable[Given]) -> Iterator[Result]:
        """What each item gives in some copy, in the order of the items."""

        def in_one(item: Given) -> Result:
            tree = self._idle.get()
            try:
                return task(tree, item)
            finally:
                self._idle.put(tree)

        return self._pool.map(in_one, items)


def _copy_files(root: Path) -> None:
    """What git tracks or would, and the peers that tests run beside."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if os.path.lexists(ROOT / name):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name, follow_symlinks=False)
    if (ROOT / "build" / "peers").is_dir():
        (root / "build").mkdir()
        (root / "build" / "peers").symlink_to(ROOT / "build" / "peers")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With all that it started and that stayed in its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()
